#include "core/base/memory.hpp"

#include <string>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "core/base/error.hpp"

namespace simjoin {

void MemoryCounter::give_back_free_memory() noexcept {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void MemoryCounter::throw_no_room() const {
  const bool whole = limit_ % (size_t{1} << 20) == 0;
  const std::string size =
      whole ? std::to_string(limit_ >> 20) + " MB" : std::to_string(limit_ >> 10) + " kB";
  throw Error(ErrorKind::memory_limit_exceeded,
              std::string(subject_.needs) + " more memory than the " + size + " of simjoin.memory_limit" +
                  subject_.rest,
              std::string("Raise simjoin.memory_limit, or ") + subject_.less + ".");
}

}  // namespace simjoin
