// Whether the caller of the engine wants to give up a call that takes long, such as the addition of a set of
// millions of tokens.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simjoin {

// Sets the question that check_interruption() asks: once for the process, before any engine is made.
void set_interruption(bool (*wanted)());

// Throws Cancelled if the caller wants to give up its call. Only for the caller's thread: threads of an
// engine have its StopFlag.
void check_interruption();

// The steps of some nanoseconds each between two such checks.
inline constexpr size_t steps_between_checks = size_t{1} << 16;

// Checks once in steps_between_checks steps, numbered from 0 on: for loops over a set of any size.
inline void check_interruption_at(size_t step) {
  if ((step + 1) % steps_between_checks == 0) check_interruption();
}

// Does what std::memcpy does, with such checks.
void copy_interruptibly(void *to, const void *from, size_t bytes);

// Returns the comparison with such a check now and then, for algorithms on arrays of any size.
template <typename Compare>
auto interruptible(Compare compare) {
  return [compare](const auto &a, const auto &b) {
    static thread_local uint32_t compared = 0;  // algorithms copy their comparisons
    if (++compared % steps_between_checks == 0) check_interruption();
    return compare(a, b);
  };
}

}  // namespace simjoin
