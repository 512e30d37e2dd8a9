// The ranks that occur in a part of a collection, renumbered without gaps and in the same order.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "core/base/memory.hpp"

namespace simjoin {

// A bit for each rank, and for each word of bits the number of bits before it: a fifth of a byte per rank.
class RoundRanks {
 public:
  static constexpr uint32_t none = UINT32_MAX;

  // For ranks below `ranks`. None is marked at first.
  RoundRanks(uint32_t ranks, MemoryCounter &memory)
      : ranks_(ranks), bits_(memory, ranks / 64 + 1, 0), before_(memory), table_(memory) {}

  // Returns the bytes that number() will take.
  size_t numbering_bytes(bool with_table) const {
    return bits_.size() * sizeof(uint32_t) + (with_table ? ranks_ * sizeof(uint32_t) : 0);
  }
  // Marks a rank and returns whether it was not marked before. Several threads may mark at a time. Each
  // reports the number of ranks that it marked first by add_marked().
  bool mark(uint32_t rank) {
    const std::atomic_ref word(bits_[rank / 64]);
    const uint64_t bit = uint64_t{1} << rank % 64;
    if ((word.load(std::memory_order_relaxed) & bit) != 0) return false;
    return (word.fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
  }
  void add_marked(uint32_t count) { marked_.fetch_add(count, std::memory_order_relaxed); }
  uint32_t marked() const { return marked_.load(std::memory_order_relaxed); }
  // Numbers the marked ranks; of() may be called afterwards. A table takes four bytes per rank and makes of()
  // several times as fast.
  void number(bool with_table) {
    before_.resize(bits_.size());
    uint32_t before = 0;
    for (size_t word = 0; word < bits_.size(); ++word) {
      before_[word] = before;
      before += ones(bits_[word]);
    }
    if (!with_table) return;
    Buffer<uint32_t> table = std::move(table_);
    table.resize(ranks_);
    for (uint32_t rank = 0; rank < ranks_; ++rank) table[rank] = of(rank);
    table_ = std::move(table);
  }
  // Returns the rank's number among the marked ones, or `none`.
  uint32_t of(uint32_t rank) const {
    if (!table_.empty()) return table_[rank];
    const uint64_t word = bits_[rank / 64], bit = uint64_t{1} << rank % 64;
    if ((word & bit) == 0) return none;
    return before_[rank / 64] + ones(word & (bit - 1));
  }

 private:
  // Returns the number of bits set. Not every machine has an instruction for it, and without it std::popcount
  // calls a library. This function is inlined into the loop over a set's ranks.
  static uint32_t ones(uint64_t bits) {
    bits -= bits >> 1 & 0x5555555555555555u;
    bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return static_cast<uint32_t>(bits * 0x0101010101010101u >> 56);
  }

  const uint32_t ranks_;
  // Separate from before_: most ranks of most sets are looked up in vain, and these bits alone fit into the
  // second-level cache.
  Buffer<uint64_t> bits_;
  Buffer<uint32_t> before_;
  Buffer<uint32_t> table_;
  std::atomic<uint32_t> marked_ = 0;
};

}  // namespace simjoin
