// The ranks that occur in a part of a collection, renumbered without gaps and in the same order.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "core/base/check.hpp"
#include "core/base/memory.hpp"
#include "core/base/ranked_bits.hpp"

namespace simjoin {

class RoundRanks {
 public:
  static constexpr uint32_t none = UINT32_MAX;

  // For ranks below `ranks`. None is marked at first.
  RoundRanks(uint32_t ranks, MemoryCounter &memory) : ranks_(ranks), bits_(memory), table_(memory) {
    bits_.resize(ranks);
  }

  // Returns the bytes that number() will take.
  size_t numbering_bytes(bool with_table) const {
    return RankedBits::ranking_bytes(ranks_) + (with_table ? ranks_ * sizeof(uint32_t) : 0);
  }
  // Marks a rank and returns whether it was not marked before. Several threads may mark at a time. Each
  // reports the number of ranks that it marked first by add_marked().
  bool mark(uint32_t rank) { return bits_.mark(rank); }
  void add_marked(uint32_t count) { marked_.fetch_add(count, std::memory_order_relaxed); }
  uint32_t marked() const { return marked_.load(std::memory_order_relaxed); }
  // Numbers the marked ranks; of() may be called afterwards. A table takes four bytes per rank and makes of()
  // several times as fast.
  void number(bool with_table, const StopFlag &stop) {
    SIMJOIN_CHECK(table_.empty());
    [[maybe_unused]] const uint64_t marked = bits_.rank(stop);
    SIMJOIN_CHECK(marked == marked_);  // every thread has reported its own
    if (!with_table) return;
    Buffer<uint32_t> table = std::move(table_);
    table.resize(ranks_);
    for (uint32_t rank = 0; rank < ranks_; ++rank) table[rank] = of(rank);
    table_ = std::move(table);
  }
  // Returns the rank's number among the marked ones, or `none`.
  uint32_t of(uint32_t rank) const {
    if (!table_.empty()) return table_[rank];
    return bits_.has(rank) ? bits_.rank_of(rank) : none;
  }

 private:
  const uint32_t ranks_;
  RankedBits bits_;
  Buffer<uint32_t> table_;
  std::atomic<uint32_t> marked_ = 0;
};

}  // namespace simjoin
