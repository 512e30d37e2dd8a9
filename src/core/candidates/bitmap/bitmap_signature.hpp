// Bitmap signatures of sets, and the bound on the overlap that they give (Sandes, Teodoro and Melo 2020).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/base/check.hpp"
#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/candidates/join_problem.hpp"
#include "core/candidates/signature_kernels.hpp"
#include "core/sets/set_collection.hpp"

namespace simjoin {

// The map from ranks to bits: the most frequent ranks have a bit each, all others share the rest evenly.
struct SignatureLayout {
  uint32_t words = 4;
  uint32_t own = 0;  // ranks with a bit of their own, less than the number of bits
  uint32_t ranks = 0;

  bool operator==(const SignatureLayout &) const = default;
  // Returns the bit of a rank. Multiples of the golden ratio fall evenly on the shared bits.
  uint32_t bit_of(uint32_t rank) const {
    const uint32_t from_top = ranks - 1 - rank;
    const uint32_t spread = from_top * 0x9E3779B9u;
    return from_top < own ? from_top
                          : own + static_cast<uint32_t>(uint64_t{spread} * (words * 64 - own) >> 32);
  }
  // Sets `signature` (`words` words) to the set's bitmap. Returns the excess: the tokens minus the bits set.
  uint32_t sign(const uint32_t *tokens, uint32_t count, uint64_t *signature) const {
    // Neighbouring tokens often share a word, and none can be written before the one before it. So they take
    // turns in copies.
    constexpr uint32_t copies = 4;
    uint64_t parts[copies][max_signature_words];
    for (uint64_t *part : parts) std::memset(part, 0, words * sizeof(uint64_t));
    const auto set = [&](uint64_t *part, uint32_t token) {
      const uint32_t bit = bit_of(token);
      part[bit / 64] |= uint64_t{1} << bit % 64;
    };
    uint32_t i = 0;
    for (; i + copies <= count; i += copies) {
      for (uint32_t copy = 0; copy < copies; ++copy) set(parts[copy], tokens[i + copy]);
    }
    for (; i < count; ++i) set(parts[0], tokens[i]);
    uint32_t bits = 0;
    for (uint32_t w = 0; w < words; ++w) {
      signature[w] = parts[0][w] | parts[1][w] | parts[2][w] | parts[3][w];
      bits += static_cast<uint32_t>(std::popcount(signature[w]));
    }
    return count - bits;
  }
};

// Returns an upper bound of the overlap of two signed sets.
inline uint32_t overlap_bound(const uint64_t *a, uint32_t a_excess, const uint64_t *b, uint32_t b_excess,
                              uint32_t words) {
  uint32_t shared = 0;
  for (uint32_t w = 0; w < words; ++w) shared += static_cast<uint32_t>(std::popcount(a[w] & b[w]));
  return shared + std::min(a_excess, b_excess);
}

// The signatures of the sets [first, end) of a collection, in the blocks that filter_row() reads.
class SignatureTable {
 public:
  SignatureTable(const SetCollection &sets, uint32_t first, uint32_t end, const SignatureLayout &layout,
                 WorkerPool &pool, MemoryCounter &memory);

  const SignatureLayout &layout() const { return layout_; }
  uint32_t first() const { return first_; }
  // Returns the blocks from the block of `set` on. The set must be in [first, end).
  const uint64_t *block_of(uint32_t set) const {
    SIMJOIN_CHECK(has(set));
    return words_.data() + align_ + (set - first_) / signature_block * signature_block * layout_.words;
  }
  uint32_t excess(uint32_t set) const {
    SIMJOIN_CHECK(has(set));
    return excess_[set - first_];
  }
  // Returns whether the table has the set. If so, copy() writes its signature.
  bool has(uint32_t set) const { return set >= first_ && set - first_ < excess_.size(); }
  void copy(uint32_t set, uint64_t *signature) const {
    const uint64_t *words = block_of(set) + (set - first_) % signature_block;
    for (uint32_t w = 0; w < layout_.words; ++w) signature[w] = words[size_t{w} * signature_block];
  }

 private:
  SignatureLayout layout_;
  uint32_t first_;
  size_t align_ = 0;  // words before the first block, for 64-byte alignment
  Buffer<uint64_t> words_;
  Buffer<uint32_t> excess_;
};

// The signatures of a join. Longer sets have wider bitmaps. Neighbouring classes of probes whose partners are
// signed alike share a table; other classes have their own.
class SignatureTables {
 public:
  // Signs the partners of the probe classes that use bitmaps. `layouts` is by probe class.
  SignatureTables(const JoinProblem &problem, const std::vector<bool> &use_bitmap,
                  const std::vector<SignatureLayout> &layouts, WorkerPool &pool, MemoryCounter &memory);

  // Signs all sets, for any probes.
  SignatureTables(const SetCollection &sets, const SignatureLayout &layout, WorkerPool &pool,
                  MemoryCounter &memory) {
    tables_.emplace_back(sets, 0, sets.sets(), layout, pool, memory);
  }

  // Returns the table with the partners of a class that uses bitmaps; null if the class has no partners.
  const SignatureTable *of(uint32_t probe_class) const {
    const uint32_t number = table_of_.empty() ? 0 : table_of_[probe_class];
    return number < tables_.size() ? &tables_[number] : nullptr;
  }

 private:
  std::vector<SignatureTable> tables_;
  std::vector<uint32_t> table_of_;  // by probe class; empty if one table serves all
};

}  // namespace simjoin
