// The division of simjoin.memory_limit within one join, here and nowhere else.
#pragma once

#include <algorithm>
#include <cstddef>

namespace simjoin {

// Returns the engine's half of the limit (JoinSpec::memory_limit). It holds sets, indexes and buffers of
// files, or, for a join on a GPU, the sets that are kept beside it.
constexpr size_t engine_share(size_t limit) {
  return limit / 2;
}

// Returns the least limit whose engine_share() is `share`.
constexpr size_t limit_for_engine(size_t share) {
  return 2 * share;
}

// Returns the share of the rows that wait for their pairs: a quarter for each side.
constexpr size_t row_share(size_t limit) {
  return limit / 4;
}

// Returns the share of functions that keep something of the pairs of a join: groups of duplicates,
// neighbours. Sets that may come again are kept within row_share() of both sides, but only while sets come
// in.
constexpr size_t pair_share(size_t limit) {
  return limit - engine_share(limit);
}

// Returns the share of the keys of a side, where ids are no integers. While keys are ordered, they take it
// twice.
constexpr size_t key_share(size_t limit) {
  return limit / 8;
}

// Returns what the keys of both sides leave of pair_share().
constexpr size_t pair_share_beside_keys(size_t limit) {
  return pair_share(limit) - 2 * key_share(limit);
}

// Returns the share of an engine that takes over from a GPU while `kept` bytes of sets wait to be fed to it.
// The waiting sets become fewer as the engine gets them, so its share is never less than half.
constexpr size_t engine_share_beside(size_t share, size_t kept) {
  return share - std::min(kept, share / 2);
}

}  // namespace simjoin
