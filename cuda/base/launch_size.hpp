// How much one launch does, so that a join that is abandoned ends soon: on any device, whatever its sets are
// like.
#pragma once

#include <algorithm>
#include <cstdint>

namespace simjoin::gpu {

// What a launch is to take: a share of the 100 ms within which a join ends, as what comes next may take a few
// times as long as what was measured.
inline constexpr double launch_ms = 15;
// What the first one is to take, by an estimate, in milliseconds of a device with so many processors (H200),
// on which the estimates were tuned; those of other devices count alike.
inline constexpr double first_launch_ms = 3;
inline constexpr double tuned_processors = 132;
// A launch does at most so many times as much as the one before it.
inline constexpr double most_growth = 16;
// Of the room for candidates, for the next launch.
inline constexpr double candidate_target = 0.5;

// What a launch did.
struct FinishedLaunch {
  double items;
  double ms;
  uint64_t found = 0;  // candidates
};

// Returns how many items the first launch gets that are estimated to take a millisecond each `items_a_ms`.
inline double first_items(double items_a_ms, int processors) {
  return std::max(1.0, items_a_ms * first_launch_ms * processors / tuned_processors);
}

// Returns how many items the next launch gets: it neither takes long nor leaves more candidates than there is
// room for, if it is like the last one.
inline double next_items(const FinishedLaunch &last, uint64_t room) {
  constexpr double shortest_ms = 0.05;  // a launch's own time
  const double by_time = launch_ms / std::max(last.ms, shortest_ms);
  const double by_room =
      candidate_target * static_cast<double>(room) / std::max(1.0, static_cast<double>(last.found));
  return std::max(1.0, last.items * std::min({by_time, by_room, most_growth}));
}

// Returns how many candidates are verified at a time after `last`, where it was `window`: few that took
// little time do not tell how many more would.
inline double next_window(const FinishedLaunch &last, double window) {
  const double next = next_items(last, UINT64_MAX);
  return last.ms > launch_ms ? next : std::max(window, next);
}

}  // namespace simjoin::gpu
