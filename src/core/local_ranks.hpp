// The ranks that occur in a part of a collection, renumbered without gaps and in the same order.
#pragma once

#include <cstdint>

#include "core/memory.hpp"

namespace simjoin {

// A bit for each rank, and the number of bits before each word of them: a quarter of a byte a rank.
class LocalRanks {
 public:
  static constexpr uint32_t none = UINT32_MAX;

  // For ranks below `ranks`, of which none is marked.
  LocalRanks(uint32_t ranks, MemoryCounter &memory) : words_(memory, ranks / 64 + 1, Word{0, 0, 0}) {}

  void mark(uint32_t rank) {
    const uint64_t bit = uint64_t{1} << rank % 64;
    marked_ += (words_[rank / 64].bits & bit) == 0;
    words_[rank / 64].bits |= bit;
  }
  uint32_t marked() const { return marked_; }
  // Numbers the marked ranks; of() is for after that.
  void number() {
    uint32_t before = 0;
    for (Word &word : words_) {
      word.before = before;
      before += ones(word.bits);
    }
  }
  // Returns the rank's number among the marked ones, or `none`.
  uint32_t of(uint32_t rank) const {
    const Word &word = words_[rank / 64];
    const uint64_t bit = uint64_t{1} << rank % 64;
    if ((word.bits & bit) == 0) return none;
    return word.before + ones(word.bits & (bit - 1));
  }

 private:
  // Returns the number of bits set. Without the instruction, which not every machine has, std::popcount is a
  // call into a library; this one is done within the loop over a set's ranks.
  static uint32_t ones(uint64_t bits) {
    bits -= bits >> 1 & 0x5555555555555555u;
    bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return static_cast<uint32_t>(bits * 0x0101010101010101u >> 56);
  }

  struct Word {
    uint64_t bits;
    uint32_t before;
    uint32_t unused;  // a word is never in two cache lines
  };

  Buffer<Word> words_;
  uint32_t marked_ = 0;
};

}  // namespace simjoin
