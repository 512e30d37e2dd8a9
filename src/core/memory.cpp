#include "core/memory.hpp"

#include <string>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "core/error.hpp"

namespace simjoin {

void MemoryCounter::give_back_free_memory() noexcept {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void MemoryCounter::throw_no_room() const {
  throw Error(ErrorKind::memory_limit_exceeded,
              std::string(subject_.needs) + " more memory than the " + std::to_string(limit_ >> 20) +
                  " MB of simjoin.memory_limit" + subject_.rest,
              std::string("Raise simjoin.memory_limit, or ") + subject_.less + ".");
}

}  // namespace simjoin
