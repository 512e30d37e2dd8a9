// A small side of a join, with an index of the prefixes of its sets.
//
// Its tokens alone have ranks, by ascending frequency within the side. To a set of the other side all other
// tokens count as rarer. That is an order of the tokens like any other, so the bounds of prefixes hold.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/base/memory.hpp"
#include "core/candidates/prefix/parity_signature.hpp"
#include "core/measure.hpp"
#include "core/sets/set_collection.hpp"
#include "core/stream/recorded_sets.hpp"
#include "core/stream/token_table.hpp"

namespace simjoin {

// A token in the prefix of a set, packed into a word for vectorised compression.
struct StreamPosting {
  uint32_t set() const { return static_cast<uint32_t>(packed); }
  // Returns the size of the set.
  uint32_t size() const { return static_cast<uint32_t>(packed >> 32); }

  uint64_t packed;
};

class SmallIndex {
 public:
  static constexpr uint32_t none = UINT32_MAX;

  // The first set of the bounds is the recorded one. Their threshold is above zero, or not a number. The
  // tokens of the recorded sets outlive the index.
  SmallIndex(const Bounds &bounds, const RecordedSets &recorded, const StopFlag &stop, MemoryCounter &memory);

  // Returns the sets that are not empty, by ascending size. All of their tokens are stored.
  const SetCollection &sets() const { return sets_; }
  uint32_t rows() const { return static_cast<uint32_t>(sizes_.size()); }
  uint32_t size_of_row(uint32_t row) const { return sizes_[row]; }
  // Returns the fewest tokens that any qualifying pair shares; `none` if no pair can qualify.
  uint32_t least_overlap() const { return least_overlap_; }
  // The ranks of the tokens.
  TokenTable &tokens() { return *tokens_; }

  size_t postings() const { return lists_.size() / 2; }
  // Both prefetch memory: what select() reads first, and the postings.
  void prefetch_begin(uint32_t rank) const { __builtin_prefetch(begins_.data() + rank); }
  void prefetch_postings(uint32_t rank) const {
    __builtin_prefetch(lists_.data() + 2 * size_t{begins_[rank]});
  }
  // Makes `near` the postings of the token of this rank whose set has a signature that differs from
  // `signature` in at most `limit` bits. (That is the signature of candidates/prefix/parity_signature.)
  void select(uint32_t rank, uint64_t signature, uint32_t limit, Buffer<StreamPosting> &near) const;
  // Returns the signatures of 256 bits of all sets.
  const ParityTable &wide_signatures() const { return *wide_signatures_; }
  // Removes the postings of the sets for which gone(row) holds.
  void remove_postings(const std::function<bool(uint32_t row)> &gone);
  // Returns the number of postings that a set of the side meets, on average, if it is looked up itself.
  double postings_met() const;

  // Returns about the bytes that recording and indexing sets takes at most, but for those of texts.
  static size_t bytes_of(uint64_t rows, uint64_t tokens);

 private:
  void order(const RecordedSets &recorded, const Buffer<uint32_t> &rank_of, const StopFlag &stop);
  void post(const Bounds &bounds, const StopFlag &stop);

  std::optional<TokenTable> tokens_;
  Buffer<uint32_t> sizes_;  // by row
  SetCollection sets_;
  uint32_t least_overlap_ = none;
  Buffer<uint32_t> begins_;  // of the postings of each rank; one more than there are ranks
  std::optional<ParityTable> wide_signatures_;
  Buffer<uint64_t> lists_;  // of each rank: the signatures of its postings, then the postings
};

}  // namespace simjoin
