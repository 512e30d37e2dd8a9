// How simjoin.memory_limit is divided within one join: here and nowhere else.
#pragma once

#include <algorithm>
#include <cstddef>

namespace simjoin {

// The engine has half of the limit (JoinSpec::memory_limit): its sets, indexes and files' buffers, or, of a
// join on a GPU, the sets that are kept beside it.
constexpr size_t engine_share(size_t limit) {
  return limit / 2;
}

// Returns the least limit of which the engine has so much.
constexpr size_t limit_for_engine(size_t share) {
  return 2 * share;
}

// The rows that wait for their pairs have a quarter on either side.
constexpr size_t row_share(size_t limit) {
  return limit / 4;
}

// What functions over the pairs of a join keep of them: groups of duplicates, neighbours. Sets that may come
// again are kept in as much as waiting rows have, but not longer than sets come in.
constexpr size_t pair_share(size_t limit) {
  return limit - engine_share(limit);
}

// Returns what of its share an engine gets that takes over from a GPU while `kept` bytes of sets wait to be
// fed to it: these become fewer as it gets them, so never less than half.
constexpr size_t engine_share_beside(size_t share, size_t kept) {
  return share - std::min(kept, share / 2);
}

}  // namespace simjoin
