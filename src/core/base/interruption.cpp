#include "core/base/interruption.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/base/worker_pool.hpp"

namespace simjoin {
namespace {

std::atomic<bool (*)()> interruption_wanted = nullptr;

// Bytes whose copy takes some milliseconds, with the first touch of the pages.
constexpr size_t copied_at_once = size_t{1} << 24;

}  // namespace

void set_interruption(bool (*wanted)()) {
  interruption_wanted = wanted;
}

void check_interruption() {
  bool (*const wanted)() = interruption_wanted.load(std::memory_order_relaxed);
  if (wanted != nullptr && wanted()) throw Cancelled{};
}

void copy_interruptibly(void *to, const void *from, size_t bytes) {
  for (size_t begin = 0; begin < bytes; begin += copied_at_once) {
    if (begin > 0) check_interruption();
    std::memcpy(static_cast<char *>(to) + begin, static_cast<const char *>(from) + begin,
                std::min(copied_at_once, bytes - begin));
  }
}

}  // namespace simjoin
