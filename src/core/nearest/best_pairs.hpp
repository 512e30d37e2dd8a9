// The pairs of a left row that a search of right rows gives next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace simjoin {

struct ScoredPair {
  double score;
  uint32_t row;          // the right one
  uint32_t overlap = 0;  // or what else the search says of the pair

  bool comes_before(const ScoredPair &other) const {
    return score != other.score ? score > other.score : row < other.row;
  }
};

// A caller asks for some pairs of a left row, and then perhaps for more. Each time a search looks for the
// best ones after those that have been given. Pairs with equal scores come by right row.
class BestPairs {
 public:
  // Begins a left row, none of whose pairs has been given.
  void begin_row(double least_score) {
    given_.reset();
    done_ = false;
    limit(1, least_score);
  }
  // The caller asks for this many pairs next, and for none with a smaller score.
  void limit(uint32_t pairs, double least_score) {
    pairs_ = std::max(pairs, 1U);
    floor_ = least_score;
  }
  // Returns whether all pairs of the left row have been given.
  bool done() const { return done_; }

  void begin_search() {
    best_.clear();
    least_ = floor_;
    before_row_ = UINT32_MAX;
  }
  // Return whether a pair with this score may be asked for, of whatever row, or of this one. Once there are
  // as many as are asked for, further ones need a larger score than the last one's, or the same and a smaller
  // row.
  bool is_wanted(double score) const { return score >= least_; }
  bool is_wanted(double score, uint32_t row) const {
    return score > least_ || (score == least_ && row < before_row_);
  }
  // The least score that is asked for, and what the row of a pair with that score must be below.
  double least() const { return least_; }
  uint32_t before_row() const { return before_row_; }
  // Keeps a pair that is asked for, unless it has been given. Returns whether fewer pairs are asked for now.
  bool keep(const ScoredPair &pair);
  // Ends the search, and returns its pairs in order. They count as given. Throws Cancelled if
  // check_interruption() does.
  std::span<const ScoredPair> give();

 private:
  bool done_ = true;
  uint32_t pairs_ = 1;               // asked for next
  double floor_ = 0;                 // the least score that is asked for
  std::optional<ScoredPair> given_;  // the last one
  std::vector<ScoredPair> best_;     // so far, a heap with the last one in front
  double least_ = 0;
  uint32_t before_row_ = 0;
};

}  // namespace simjoin
