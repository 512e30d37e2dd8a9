#include "core/base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace simjoin {

void check_failed(const char *condition, const char *file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

bool has_checks() noexcept {
#ifdef SIMJOIN_CHECKS
  return true;
#else
  return false;
#endif
}

}  // namespace simjoin
