// The right rows of a search for nearest sets, with lists of the rows of each token.
//
// A list begins with the rows that may share the most tokens from this one on. So a search with any threshold
// looks at the beginnings of lists.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/stream/recorded_sets.hpp"
#include "core/stream/token_table.hpp"

namespace simjoin {

// A token of a row's set.
struct NearPosting {
  // Stands for this number and for all larger ones.
  static constexpr uint32_t most = UINT16_MAX;

  uint64_t signature;  // of the set's tokens after this one
  uint32_t row;
  uint16_t rest;  // the number of the set's tokens from this one on, rarest first
  uint16_t size;  // of the set
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

  // Returns the rows that have the token of the rank: by descending rest, then by ascending size, then by
  // row.
  std::span<const NearPosting> list(uint32_t rank) const {
    return {postings_.data() + begins_[rank], begins_[rank + 1] - begins_[rank]};
  }
  // Both prefetch memory: what list() will read, and the list.
  void prefetch_begin(uint32_t rank) const { __builtin_prefetch(begins_.data() + rank); }
  void prefetch_list(uint32_t rank) const { __builtin_prefetch(postings_.data() + begins_[rank]); }
  // Returns the bit of a token in signatures. The most frequent tokens have different ones.
  uint64_t bit_of(uint32_t rank) const { return uint64_t{1} << (distinct_tokens() - 1 - rank) % 64; }

  // Returns about the bytes that indexing sets takes in all, whose recording takes `recorded`.
  static size_t bytes_of(uint64_t rows, uint64_t tokens, size_t recorded);

 private:
  void rank_sets(const RecordedSets &recorded, const Buffer<uint32_t> &rank_of, const StopFlag &stop);
  void post(const StopFlag &stop, MemoryCounter &memory);

  std::optional<TokenTable> tokens_;
  Buffer<uint32_t> ranks_;   // of all rows, row by row
  Buffer<uint64_t> starts_;  // of each row, in ranks_
  Buffer<NearPosting> postings_;
  Buffer<uint64_t> begins_;  // of the list of each rank, in postings_
};

}  // namespace simjoin
