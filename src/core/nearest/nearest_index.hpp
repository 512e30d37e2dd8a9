// The right rows of a search for nearest sets, with lists of the rows of each token.
//
// A list has a signature for each row, of its tokens after this one. Rows of small sets come first, and among
// sets of one size those that may share the most tokens from this one on. Blocks of 64 entries have bounds,
// so a search passes over those that are too large or share too little without reading them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/stream/recorded_sets.hpp"
#include "core/stream/token_table.hpp"

namespace simjoin {

// Bounds of a block of entries, which may be of several lists.
struct NearBlock {
  // Stands for this number and for all larger ones.
  static constexpr uint32_t most = UINT16_MAX;
  // The number of entries, the bits of a word.
  static constexpr size_t entries = 64;

  uint16_t rest;  // the most tokens that a set has from an entry's token on, rarest first
  uint16_t size;  // of the smallest set
};

// The entries of a list.
struct NearList {
  size_t begin;
  size_t end;

  size_t size() const { return end - begin; }
};

class NearestIndex {
 public:
  // The tokens of the recorded sets outlive the index. Throws Cancelled if the flag is set.
  NearestIndex(const RecordedSets &recorded, const StopFlag &stop, MemoryCounter &memory);

  uint32_t rows() const { return static_cast<uint32_t>(starts_.size() - 1); }
  uint32_t size_of(uint32_t row) const { return static_cast<uint32_t>(starts_[row + 1] - starts_[row]); }
  // Returns the ascending ranks of the row's tokens. Rarer tokens have lower ranks.
  const uint32_t *set_of(uint32_t row) const { return ranks_.data() + starts_[row]; }
  // Both prefetch memory: what set_of() and size_of() will read, and the set itself.
  void prefetch(uint32_t row) const { __builtin_prefetch(starts_.data() + row); }
  void prefetch_set(uint32_t row) const { __builtin_prefetch(ranks_.data() + starts_[row]); }
  uint64_t token_count() const { return ranks_.size(); }
  uint32_t distinct_tokens() const { return static_cast<uint32_t>(begins_.size() - 1); }
  // The ranks of the tokens.
  TokenTable &tokens() { return *tokens_; }

  // Returns the entries of the rows that have the token of the rank: by ascending size, then by descending
  // rest, then by row.
  NearList list(uint32_t rank) const { return {begins_[rank], begins_[rank + size_t{1}]}; }
  // Returns the signatures of all entries, of which signature_vector more can be read.
  const uint64_t *signatures() const { return signatures_.data(); }
  uint32_t row_at(size_t entry) const { return rows_[entry]; }
  void prefetch_row(size_t entry) const { __builtin_prefetch(rows_.data() + entry); }
  const NearBlock &block_of(size_t entry) const { return blocks_[entry / NearBlock::entries]; }
  // Both prefetch memory: what list() will read, and the list.
  void prefetch_begin(uint32_t rank) const { __builtin_prefetch(begins_.data() + rank); }
  void prefetch_list(uint32_t rank) const {
    __builtin_prefetch(blocks_.data() + begins_[rank] / NearBlock::entries);
    __builtin_prefetch(signatures_.data() + begins_[rank]);
    __builtin_prefetch(rows_.data() + begins_[rank]);
  }

  // A signature has the size of the whole set in its lowest bits. most_size stands for all larger ones, too.
  static constexpr uint32_t most_size = 255;
  static uint32_t size_in(uint64_t signature) { return static_cast<uint32_t>(signature & most_size); }
  // Returns the bit of a token in signatures. The most frequent tokens have different ones.
  uint64_t bit_of(uint32_t rank) const {
    return uint64_t{1} << (size_bits + (distinct_tokens() - 1 - rank) % (64 - size_bits));
  }

  // Returns about the bytes that indexing sets takes in all, whose recording takes `recorded`.
  static size_t bytes_of(uint64_t rows, uint64_t tokens, size_t recorded);

 private:
  static constexpr uint32_t size_bits = 8;

  void rank_sets(const RecordedSets &recorded, const Buffer<uint32_t> &rank_of, const StopFlag &stop);
  void post(const StopFlag &stop, MemoryCounter &memory);
  void add_entry(size_t entry, uint64_t signature, uint32_t row, uint32_t rest, uint32_t size);

  std::optional<TokenTable> tokens_;
  Buffer<uint32_t> ranks_;       // of all rows, row by row
  Buffer<uint64_t> starts_;      // of each row, in ranks_
  Buffer<uint64_t> signatures_;  // of the entries of all lists
  Buffer<uint32_t> rows_;        // the same
  Buffer<NearBlock> blocks_;     // of these
  Buffer<uint64_t> begins_;      // of the list of each rank
};

}  // namespace simjoin
