// Sets of small integers as bits, which several threads mark, and the rank of each integer in such a set.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/base/check.hpp"
#include "core/base/memory.hpp"
#include "core/base/parallel_ranges.hpp"
#include "core/base/worker_pool.hpp"

namespace simjoin {

// A bit for each integer below a size. None is marked at first. Several threads may mark and ask at a time.
class SharedBits {
 public:
  explicit SharedBits(MemoryCounter &memory) : words_(memory) {}

  // Make room for the integers below `size`. Called once, before all else.
  void resize(size_t size) {
    SIMJOIN_CHECK(words_.empty());
    words_.resize(size / 64 + 1, 0);
  }
  void resize(size_t size, WorkerPool &pool) {
    SIMJOIN_CHECK(words_.empty());
    fill(words_, size / 64 + 1, uint64_t{0}, pool);
  }

  // Marks an integer and returns whether it was not marked before.
  bool mark(size_t i) {
    SIMJOIN_CHECK(i / 64 < words_.size());
    const uint64_t bit = uint64_t{1} << i % 64;
    if ((word(i) & bit) != 0) return false;
    return (__atomic_fetch_or(&words_[i / 64], bit, __ATOMIC_RELAXED) & bit) == 0;
  }
  bool marked(size_t i) const { return (word(i) >> i % 64 & 1) != 0; }

 protected:
  // C++20 has atomic references to variables only, not to constants.
  uint64_t word(size_t i) const { return __atomic_load_n(&words_[i / 64], __ATOMIC_RELAXED); }

  Buffer<uint64_t> words_;
};

// Such bits with the number of marked integers before each word of them: 3/16 bytes for each integer.
class RankedBits : public SharedBits {
 public:
  explicit RankedBits(MemoryCounter &memory) : SharedBits(memory), before_(memory) {}

  // Returns the bytes of the counts that rank() makes for the integers below `size`.
  static size_t ranking_bytes(size_t size) { return (size / 64 + 1) * sizeof(uint32_t); }

  // Ends the marking and counts. Returns the number of marked integers, which must be below 2^32 for
  // rank_of().
  uint64_t rank(const StopFlag &stop) {
    SIMJOIN_CHECK(!words_.empty());
    before_.resize(words_.size());
    uint64_t before = 0;
    for (size_t word = 0; word < words_.size(); ++word) {
      stop.check_at(word);
      before_[word] = static_cast<uint32_t>(before);
      before += ones(words_[word]);
    }
    return before;
  }
  // Returns the number of marked integers below `i`.
  uint32_t rank_of(size_t i) const {
    SIMJOIN_CHECK(i / 64 < before_.size());  // rank() was called
    return before_[i / 64] + ones(words_[i / 64] & ((uint64_t{1} << i % 64) - 1));
  }
  // As marked(), without regard to other threads.
  bool has(size_t i) const { return (words_[i / 64] >> i % 64 & 1) != 0; }

  size_t words() const { return words_.size(); }
  // Calls visit(i, rank) for each marked integer of the words [begin, end).
  template <class Visit>
  void visit(size_t begin, size_t end, Visit &&visit) const {
    SIMJOIN_CHECK(end <= before_.size());
    for (size_t word = begin; word < end; ++word) {
      uint32_t rank = before_[word];
      for (uint64_t bits = words_[word]; bits != 0; bits &= bits - 1)
        visit(word * 64 + static_cast<size_t>(std::countr_zero(bits)), rank++);
    }
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

  // Separate from the bits: most lookups of most users are in vain, and the bits alone fit into the
  // second-level cache.
  Buffer<uint32_t> before_;
};

}  // namespace simjoin
