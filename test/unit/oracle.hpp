// The naive join with which every engine is compared, and the plain types of the tests.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <iterator>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "core/join.hpp"

namespace simjoin::test {

using IntSet = std::vector<int32_t>;
template <class Token>
using Sets = std::vector<std::vector<Token>>;
using IntSets = Sets<int32_t>;

// A pair of rows and the number of tokens that they share.
struct Pair {
  uint32_t left;
  uint32_t right;
  uint32_t overlap;

  auto operator<=>(const Pair &) const = default;
};

inline std::ostream &operator<<(std::ostream &out, const Pair &pair) {
  return out << '(' << pair.left << ", " << pair.right << "; " << pair.overlap << ')';
}

// The sets of a join: if self_join one collection with itself, otherwise left with right.
template <class Token>
struct Input {
  Sets<Token> left;
  Sets<Token> right;
  bool self_join = false;

  const Sets<Token> &other() const { return self_join ? left : right; }
};

// All pairs of an input with their overlaps, computed once and then filtered for any measure and threshold.
template <class Token>
class Oracle {
 public:
  explicit Oracle(const Input<Token> &input) : self_join_(input.self_join) {
    const auto left = as_sets(input.left);
    const auto right = as_sets(input.other());
    for (uint32_t l = 0; l < left.size(); ++l) {
      for (uint32_t r = input.self_join ? l + 1 : 0; r < right.size(); ++r) {
        pairs_.push_back({l, r, overlap_of(left[l], right[r])});
        left_size_.push_back(static_cast<int64_t>(left[l].size()));
        right_size_.push_back(static_cast<int64_t>(right[r].size()));
      }
    }
  }

  // Returns the pairs with similarity >= threshold, ascending by (left, right). In a self-join, it is enough
  // that the pair reaches it in one order.
  std::vector<Pair> join(Measure measure, double threshold) const {
    std::vector<Pair> result;
    for (size_t i = 0; i < pairs_.size(); ++i) {
      const int64_t left = left_size_[i], right = right_size_[i];
      if (similarity(measure, pairs_[i].overlap, left, right) >= threshold ||
          (self_join_ && similarity(measure, pairs_[i].overlap, right, left) >= threshold)) {
        result.push_back(pairs_[i]);
      }
    }
    return result;
  }

 private:
  static std::vector<std::set<Token>> as_sets(const Sets<Token> &sets) {
    std::vector<std::set<Token>> result;
    for (const auto &set : sets) result.emplace_back(set.begin(), set.end());
    return result;
  }

  static uint32_t overlap_of(const std::set<Token> &a, const std::set<Token> &b) {
    const auto &smaller = a.size() <= b.size() ? a : b;
    const auto &larger = a.size() <= b.size() ? b : a;
    uint32_t overlap = 0;
    for (const Token &token : smaller) overlap += static_cast<uint32_t>(larger.count(token));
    return overlap;
  }

  const bool self_join_;
  std::vector<Pair> pairs_;
  std::vector<int64_t> left_size_;
  std::vector<int64_t> right_size_;
};

}  // namespace simjoin::test
