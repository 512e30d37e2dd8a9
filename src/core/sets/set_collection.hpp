// One side of a join as the join needs it: ranked, and ordered by size.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/check.hpp"
#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/measure.hpp"
#include "core/sets/ranking.hpp"
#include "core/sets/raw_sets.hpp"
#include "core/sets/set_sizes.hpp"

namespace simjoin {

// Sets of one size: numbers [begin, end) of their collection.
struct SizeClass {
  uint32_t size;
  uint32_t begin;
  uint32_t end;
};

// The sets of a side, numbered by ascending size. Each set is stored as ascending ranks. Tokens that cannot
// be shared are left out ("dropped"). They are rarer than all others, so a set's stored ranks are its last
// ones. Of a set that can have no partner, all tokens may be dropped.
class SetCollection {
 public:
  explicit SetCollection(MemoryCounter &memory) : tokens(memory), starts(memory), rows(memory) {}

  uint32_t sets() const { return static_cast<uint32_t>(rows.size()); }
  const uint32_t *begin(uint32_t set) const { return tokens.data() + starts[set]; }
  // Returns the number of stored tokens of the set.
  uint32_t stored(uint32_t set) const { return static_cast<uint32_t>(starts[set + 1] - starts[set]); }
  // Both prefetch memory: what begin() and stored() will read, and the ranks themselves.
  void prefetch_start(uint32_t set) const { __builtin_prefetch(starts.data() + set); }
  void prefetch_tokens(uint32_t set) const { __builtin_prefetch(tokens.data() + starts[set]); }
  // Returns how many of the set's first `prefix` tokens are stored. `size` is the size of the set.
  uint32_t stored_prefix(uint32_t set, uint32_t size, uint32_t prefix) const {
    SIMJOIN_CHECK(stored(set) <= size);
    const uint32_t dropped = size - stored(set);
    return prefix > dropped ? prefix - dropped : 0;
  }
  // Returns the index of the set's class.
  uint32_t class_of(uint32_t set) const;

  Buffer<uint32_t> tokens;
  Buffer<uint64_t> starts;  // one more entry than there are sets
  Buffer<uint32_t> rows;    // by set
  std::vector<SizeClass> classes;
  uint32_t ranks = 0;  // every rank is less
};

// The sizes that occur on a side.
struct SizeClasses {
  explicit SizeClasses(MemoryCounter &memory) : class_of_size(memory) {}

  std::vector<SizeClass> classes;  // ascending
  Buffer<uint32_t> class_of_size;  // by size; defined for sizes that occur
};

// Returns the classes of all sizes that occur. Size 0 is among them only with `keep_empty`.
SizeClasses classes_of(const SetSizes &sizes, bool keep_empty, const StopFlag &stop, MemoryCounter &memory);

// Replaces the ids of a block's rows by ranks, in no order, at the beginning of each row's place. Ids without
// a rank are dropped. `stored` (by row) gets the number of ranks that each row keeps.
void apply_ranks(const RawSets &raw, RawBlock &block, const Ranking &ranking, uint32_t *stored,
                 const StopFlag &stop);
// Gives `stored` alone, if ranks are in the order of values.
void count_ranked(const RawSets &raw, const RawBlock &block, const Ranking &ranking, uint32_t *stored,
                  const StopFlag &stop);
// Does the same as apply_ranks(). The ranks of each row are ascending.
void apply_ranks_in_order(const RawSets &raw, RawBlock &block, const Ranking &ranking, uint32_t *stored,
                          const StopFlag &stop);

// Returns the bytes of a block that the system gets when the block is released: 0 if the allocator keeps
// them.
inline size_t mapped_bytes(const RawBlock &block) {
  const size_t bytes = block.ids.size() * sizeof(uint32_t);
  return bytes < huge_page ? 0 : bytes;
}

// Returns the bytes of ranks that are touched at most before as many bytes of blocks are given back: the page
// that each class of sizes fills, and the blocks that the workers read.
constexpr size_t ordering_room(size_t classes, int workers) {
  return (classes + static_cast<size_t>(workers)) * huge_page;
}

// Bytes that count as free for some time: they would count twice, for an array that has been allocated but
// not touched, and for those that are given back while it fills.
class UntouchedBytes {
 public:
  UntouchedBytes(MemoryCounter &counter, size_t bytes) : counter_(counter), left_(bytes) {
    counter_.sub(bytes);
  }
  ~UntouchedBytes() { counter_.add(left_); }
  UntouchedBytes(const UntouchedBytes &) = delete;
  UntouchedBytes &operator=(const UntouchedBytes &) = delete;

  // Counts up to so many of the bytes again, since they have been touched. Several threads may call it.
  void touch(size_t bytes) noexcept {
    size_t left = left_.load(std::memory_order_relaxed);
    while (!left_.compare_exchange_weak(left, left - std::min(left, bytes), std::memory_order_relaxed)) {
    }
    counter_.add(std::min(left, bytes));
  }

 private:
  MemoryCounter &counter_;
  std::atomic<size_t> left_;
};

// Returns the collection of the rows, and releases the blocks. apply_ranks() has been called for all blocks,
// or count_ranked() if ranks are in the order of values. The ranking's table is not looked at. Sets of equal
// size are in the order of their rows. The first set of the bounds is one of the collection. Of a set whose
// ranks are too few for any partner, none are stored. Without bounds, empty sets are kept.
SetCollection order_by_size(RawSets &raw, Buffer<uint32_t> stored, const Ranking &ranking,
                            const std::optional<Bounds> &bounds, WorkerPool &pool, MemoryCounter &memory);

// Returns the sets of the rows whose `wanted` (by row) is not 0, in the same order.
SetCollection sets_of_rows(const SetCollection &sets, const Buffer<uint8_t> &wanted, const StopFlag &stop,
                           MemoryCounter &memory);

}  // namespace simjoin
