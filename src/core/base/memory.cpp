#include "core/base/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "core/base/error.hpp"

namespace simjoin {
namespace {

size_t whole_pages(size_t bytes) noexcept {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

char *map(size_t bytes) noexcept {
  void *data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return data == MAP_FAILED ? nullptr : static_cast<char *>(data);
}

// Returns whole pages that begin at a border of huge pages, or null. The first try succeeds if the system
// thinks of huge pages, or places the pages below others of this kind.
char *map_aligned(size_t bytes) noexcept {
  char *data = map(bytes);
  if (data == nullptr || reinterpret_cast<uintptr_t>(data) % huge_page == 0) return data;
  munmap(data, bytes);
  data = map(bytes + huge_page);
  if (data == nullptr) return nullptr;
  const size_t before = (huge_page - reinterpret_cast<uintptr_t>(data) % huge_page) % huge_page;
  if (before > 0) munmap(data, before);
  munmap(data + before + bytes, huge_page - before);
  return data + before;
}

}  // namespace

void *map_huge(size_t bytes) noexcept {
  char *const data = map_aligned(whole_pages(bytes));
  if (data != nullptr) prefer_huge_pages(data, bytes);
  return data;
}

void unmap_huge(void *data, size_t bytes) noexcept {
  munmap(data, whole_pages(bytes));
}

void *reallocate(void *data, size_t old_bytes, size_t bytes) noexcept {
  if (old_bytes < huge_page && bytes < huge_page) return std::realloc(data, bytes);
#ifdef __linux__
  if (old_bytes >= huge_page && bytes >= huge_page) {
    const size_t from = whole_pages(old_bytes), to = whole_pages(bytes);
    if (from == to || mremap(data, from, to, 0) != MAP_FAILED) return data;
    // Huge pages move as such only between their borders.
    char *const place = map_aligned(to);
    if (place == nullptr) return nullptr;
    if (mremap(data, from, to, MREMAP_MAYMOVE | MREMAP_FIXED, place) != MAP_FAILED) return place;
    munmap(place, to);
    return nullptr;
  }
#endif
  void *const to = bytes >= huge_page ? map_huge(bytes) : std::malloc(bytes);
  if (to == nullptr) return nullptr;
  if (data != nullptr) std::memcpy(to, data, std::min(old_bytes, bytes));
  deallocate(data, old_bytes);
  return to;
}

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
