// Sizes of launches. They are bounded so that a cancelled join ends soon on any device and with any sets.
#pragma once

#include <algorithm>
#include <cstdint>

namespace simjoin::gpu {

// Target time of a launch. It is a fraction of the 100 ms within which a join must end, because the next
// launch may take a few times as long as the measured one.
inline constexpr double launch_ms = 15;
// Target time of the first launch, by an estimate. The estimates were tuned on an H200 with
// `tuned_processors` multiprocessors; a multiprocessor of another device counts alike.
inline constexpr double first_launch_ms = 3;
inline constexpr double tuned_processors = 132;
// The most items of a launch, as a multiple of those of the launch before.
inline constexpr double most_growth = 16;
// Fraction of the room for candidates that the next launch should fill.
inline constexpr double candidate_target = 0.5;

// Work and time of one launch.
struct FinishedLaunch {
  double items;
  double ms;
  uint64_t found = 0;   // candidates
  uint64_t groups = 0;  // that passed
};

// Returns the items of the first launch. `items_per_ms` is an estimate of how many take a millisecond.
inline double first_items(double items_per_ms, int processors) {
  return std::max(1.0, items_per_ms * first_launch_ms * processors / tuned_processors);
}

// Returns the items of the next launch: if they are like those of `last`, it takes `launch_ms` at most and
// fills at most half of `room`.
inline double next_items(const FinishedLaunch &last, uint64_t room) {
  constexpr double shortest_ms = 0.05;  // cost of a launch without work
  const double by_time = launch_ms / std::max(last.ms, shortest_ms);
  const double by_room =
      candidate_target * static_cast<double>(room) / std::max(1.0, static_cast<double>(last.found));
  return std::max(1.0, last.items * std::min({by_time, by_room, most_growth}));
}

// Returns how many candidates the next verification takes at a time. `window` is the number of `last`. A
// short launch over few candidates does not show how long more of them take, so it never shrinks the window.
inline double next_window(const FinishedLaunch &last, double window) {
  const double next = next_items(last, UINT64_MAX);
  return last.ms > launch_ms ? next : std::max(window, next);
}

}  // namespace simjoin::gpu
