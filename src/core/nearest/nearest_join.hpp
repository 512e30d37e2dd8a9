// For each left row, its right rows by descending similarity: right rows are indexed, left rows looked up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/memory.hpp"
#include "core/nearest/nearest_index.hpp"
#include "core/nearest/nearest_search.hpp"
#include "core/sort/short_sort.hpp"

namespace simjoin {

// What nearest rows are sorted by.
struct NearestOrder {
  Measure measure;      // of the left and the right set
  bool distance;        // the Jaccard distance, ascending, instead of the similarity, descending
  bool single = false;  // both in single precision: the Jaccard similarity, or 1 - the rounded similarity

  // Returns a number that is larger for nearer sets, and equal for sets that are as near. It never decreases
  // as overlap grows, and never increases as the right set grows at the same overlap.
  double score(int64_t overlap, int64_t left, int64_t right) const {
    if (single) return score_of(similarity(measure, overlap, left, right));
    return distance ? -jaccard_distance(overlap, left, right) : similarity(measure, overlap, left, right);
  }

  // Returns a score in single precision: that of sets of this similarity.
  double score_of(double similarity) const {
    const auto rounded = static_cast<float>(similarity);
    return distance ? -static_cast<float>(1.0 - static_cast<double>(rounded)) : rounded;
  }
};

// Tells most tokens that a small set does not have.
class RankFilter {
 public:
  void assign(const uint32_t *ranks, size_t count) {
    std::fill(std::begin(bits_), std::end(bits_), 0);
    for (size_t i = 0; i < count; ++i) bits_[ranks[i] % bits / 64] |= uint64_t{1} << ranks[i] % 64;
  }
  // Returns how many of the ranks the set may have: none that it has is left out.
  uint32_t count_of(const uint32_t *ranks, uint32_t count) const {
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; ++i) found += bits_[ranks[i] % bits / 64] >> ranks[i] % 64 & 1;
    return found;
  }

 private:
  static constexpr uint32_t bits = 1024;
  uint64_t bits_[bits / 64] = {};
};

class NearestJoin final : public NearestSearch {
 public:
  explicit NearestJoin(const NearestOrder &order) : NearestSearch("nearest"), order_(order) {}

  void add(Side side, const SetSlice &rows) override;
  size_t bytes_to_index() const override {
    return NearestIndex::bytes_of(recorded_.rows(), recorded_.size(), memory_.current());
  }
  bool takes_long_to_index() const override { return recorded_.size() >= long_to_index; }
  void index(const StopFlag &stop) override;

  bool shares_tokens(uint32_t row) override;

  uint32_t set_size(Side side, uint32_t row) const override {
    return side == Side::left ? size_ : index_->size_of(row);
  }

 private:
  // Indexing this many tokens takes some 40 ms.
  static constexpr uint64_t long_to_index = uint64_t{1} << 17;

  struct Candidate {
    double score;  // at most
    size_t entry;  // of the row in the index
    uint32_t row;  // once it is looked at
  };

  template <typename T>
  void look_up(std::vector<T> &tokens);
  void begin_marks();
  void take_steps(size_t count);
  void search() override;
  void scan(uint32_t number);
  void consider(size_t entry, uint32_t number, uint32_t hidden);
  uint32_t required(uint32_t size);
  uint32_t least_overlap(uint32_t size, uint32_t least) const;
  void verify_candidates();
  void verify(const Candidate &candidate);

  const NearestOrder order_;
  RecordedSets recorded_{memory_};
  std::optional<NearestIndex> index_;
  std::vector<int64_t> integers_;
  std::vector<std::string_view> texts_;

  // The last left row.
  Buffer<uint32_t> ranks_{memory_};  // ascending, of its tokens that right rows have
  ShortSort sort_;
  RankFilter filter_;                 // of these
  uint32_t size_ = 0;                 // all its distinct tokens
  std::vector<uint64_t> signatures_;  // of the tokens after each of ranks_
  bool all_marked_ = false;           // of the right rows, those that share tokens have the last mark

  // Rows of pairs that may be asked for, whose memory is on its way.
  std::vector<Candidate> candidates_;

  // The smallest overlap with a set of some size that may be asked for, as of a version of what is asked for.
  struct Required {
    uint64_t version = 0;
    uint32_t overlap = 0;
  };
  Required required_[NearestIndex::most_size + 1];  // by size
  uint64_t version_ = 0;
  uint64_t first_version_ = 0;  // of the search. From then on, required overlaps do not decrease.

  size_t steps_ = 0;  // since the last check for interruption

  Buffer<uint32_t> marks_{memory_};  // by right row: the last search that has met it
  uint32_t mark_ = 0;
};

}  // namespace simjoin
