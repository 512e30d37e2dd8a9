// For each left row with weights, its right rows by descending similarity: right rows are indexed, left rows
// looked up.
//
// A set's share at a token is the part of its mass (weighted_bounds.hpp) that this token has and those after
// it, which are more frequent. The shares of two sets at their first common token bound their similarity. So
// the list of a token begins with the rows of the largest shares, and a search reads the beginnings of lists.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/memory.hpp"
#include "core/measure.hpp"
#include "core/nearest/nearest_search.hpp"
#include "core/sets/vocabulary.hpp"
#include "core/sort/short_sort.hpp"
#include "core/stream/token_table.hpp"
#include "core/weighted/weighted_sets.hpp"

namespace simjoin {

// Pairs come with their similarities. Tokens without weight are left out, so rows that share tokens are
// similar.
class WeightedNearest final : public NearestSearch {
 public:
  // The measure is jaccard or cosine.
  explicit WeightedNearest(Measure measure) : NearestSearch("nearest"), measure_(measure) {}

  void add(Side side, const SetSlice &rows) override;
  size_t bytes_to_index() const override { return bytes_of(ends_.size(), ids_.size(), memory_.current()); }
  bool takes_long_to_index() const override { return ids_.size() >= long_to_index; }
  void index(const StopFlag &stop) override;

  bool shares_tokens(uint32_t row) override;

  uint32_t set_size(Side side, uint32_t row) const override {
    return side == Side::left ? left_.count : sets_[row].count;
  }

  // Returns about the bytes that indexing sets takes in all, whose recording takes `recorded`.
  static size_t bytes_of(uint64_t rows, uint64_t tokens, size_t recorded) {
    constexpr size_t token = sizeof(uint32_t) + sizeof(double) + sizeof(Posting);
    constexpr size_t row = 2 * sizeof(uint64_t) + 2 * sizeof(double) + 2 * sizeof(uint32_t);
    return 3 * recorded + tokens * token + rows * row;
  }

 private:
  // Indexing this many tokens takes some 40 ms.
  static constexpr uint64_t long_to_index = uint64_t{1} << 17;

  struct Posting {
    uint32_t row;
    float share;  // not rounded down

    bool operator<(const Posting &other) const {
      return share != other.share ? share > other.share : row < other.row;
    }
  };

  // What the weights of a set add up to.
  struct Mass {
    double total = 0;
    WeightRange range;
  };

  template <class T>
  void add_set(Side side, std::span<const T> tokens, std::span<const double> weights);
  template <class T>
  void number(std::span<const T> tokens, uint32_t *ids);
  template <class T>
  void record(const std::vector<T> &tokens);
  template <class T>
  void look_up(const std::vector<T> &tokens);
  // Calls check(i) before the i-th weight.
  template <class Check>
  Mass mass_of(std::span<const double> weights, Check &&check) const;
  void rank_sets(const Buffer<uint32_t> &rank_of, const StopFlag &stop);
  void post(const StopFlag &stop);
  // Calls visit(i, share) for the tokens of a set, the last one first.
  template <class Visit>
  void for_each_share(const WeightedSet &set, Visit &&visit) const;
  std::span<const Posting> list(uint32_t rank) const {
    return {postings_.data() + begins_[rank], begins_[rank + 1] - begins_[rank]};
  }
  void begin_marks();
  // Returns no less than the similarity of sets with these shares.
  double most_similar(double left_share, double right_share) const;
  void search() override;
  void push(const ScoredPair &pair, Batch &out) const override {
    out.push(0, pair.row, 0);
    out.similarity.push_back(pair.score);
  }
  void verify(uint32_t row);

  const Measure measure_;
  // The right rows as they come.
  std::optional<Vocabulary> vocabulary_;
  Buffer<uint32_t> ids_{memory_};  // row by row
  Buffer<double> weights_{memory_};
  Buffer<uint64_t> ends_{memory_};  // of each row, in ids_
  std::vector<std::string_view> texts_;
  std::vector<int64_t> integers_;
  std::vector<double> of_set_;  // the weights of a set's tokens
  WeightRange range_;           // of all right rows
  uint32_t largest_ = 0;        // the tokens of the largest set

  // The index.
  std::optional<TokenList> list_of_tokens_;
  std::optional<TokenTable> tokens_;
  WeightedSets sets_{{.wide = true, .exact = false}, memory_};
  Buffer<Posting> postings_{memory_};
  Buffer<uint64_t> begins_{memory_};  // of the list of each rank, in postings_

  // The last left row.
  std::vector<uint64_t> ranked_;  // of its tokens that right rows have: the rank above the token's place
  std::vector<uint32_t> ranks_;
  std::vector<double> rank_weights_, shares_;
  ExactSum exact_;
  WeightedSet left_ = {};
  WeightFormat format_ = {.wide = true, .exact = false};
  double slack_ = 1;         // what a bound is multiplied by, since sums are rounded
  bool all_marked_ = false;  // of the right rows, those that share tokens have the last mark

  Buffer<uint32_t> marks_{memory_};  // by right row: the last search that has met it
  uint32_t mark_ = 0;
};

}  // namespace simjoin
