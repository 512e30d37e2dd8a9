// Which of many sets can be similar to one of a few sets, by the tokens of the few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "core/measure.hpp"
#include "core/weighted/weighted_bounds.hpp"

namespace simjoin {

// Keeps hashes of tokens. Two tokens may have one hash.
class TokenFilter {
 public:
  // `threshold`: above zero. The measure of sets with weights is jaccard or cosine.
  TokenFilter(Measure measure, double threshold)
      : bounds_(measure, threshold),
        weighted_bounds_(measure, threshold, false, std::numeric_limits<uint32_t>::max()) {}

  // Adds tokens of one of the few sets.
  template <typename Token>
  void add(std::span<const Token> tokens);
  // Ends the adding.
  void finish();
  // Returns false if no set of some of the added tokens, and of others, is similar enough to `tokens`.
  template <typename Token>
  bool may_match(std::span<const Token> tokens);
  // The same of a set with weights: distinct tokens, each with its weight.
  template <typename Token>
  bool may_match(std::span<const Token> tokens, std::span<const double> weights) const;

 private:
  bool known(uint64_t hash) const { return (words_[hash >> shift_ >> 6] >> (hash >> shift_ & 63) & 1) != 0; }
  uint32_t least_overlap(size_t size);

  const Bounds bounds_;
  const WeightedBounds weighted_bounds_;
  std::vector<uint64_t> added_;
  std::vector<uint64_t> words_;  // a bit for each value of the upper bits of a hash
  int shift_ = 0;
  std::vector<uint32_t> least_overlap_;  // by size; 0 = not known yet
  std::vector<uint64_t> hashes_;         // of the set that is tested
};

}  // namespace simjoin
