// Prefixes of sets with weights in a fixed order of tokens: two similar sets share a token of their prefixes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/lookup/token_order.hpp"
#include "core/weighted/weighted_bounds.hpp"

namespace simjoin {

// Tokens of one code count as one token, whose mass is the sum of theirs. That makes no two sets less
// similar.
struct WeightedKey {
  TokenKey key;
  double mass;  // as in WeightedBounds, above 0
};

// A set by its tokens, whose keys ascend. The first ones are its prefix.
struct WeightedKeys {
  double total;  // of all masses
  std::span<const WeightedKey> tokens;
  size_t prefix;
};

// A set by its prefix in an index: an entry and a mass for each token. Codes of sets of very different totals
// differ, so that such sets do not meet.
struct IndexedWeights {
  double total;
  std::span<const TokenCode> entries;
  std::span<const double> masses;
};

class WeightedPrefixes {
 public:
  // `measure` is jaccard or cosine, and the threshold above zero.
  WeightedPrefixes(Measure measure, double threshold);

  double mass(double weight) const { return bounds_.mass(weight); }
  // Return the least and the greatest total of a set that can be similar to one with this total.
  double least_partner(double total) const { return bounds_.least_partner(total); }
  double most_partner(double total) const { return bounds_.most_partner(total); }
  // Returns the set of these tokens, whose keys ascend. Joins those of equal keys in place. Throws Cancelled,
  // as does lookups(), where the caller gives a large set up.
  WeightedKeys set_of(std::span<WeightedKey> tokens) const;
  // Sets the prefix's entries in an index, and their masses.
  void entries_of(const WeightedKeys &set, TokenCode *entries, double *masses) const;
  // Returns the lookups for a set, or nothing if they have more than `most` entries. Each similar set is
  // found by one of them. They are valid until the next call. The caller keeps the set, which later calls of
  // may_be_similar are about.
  std::optional<std::span<const PrefixLookup>> lookups(const WeightedKeys &set, size_t most);
  // Returns false if the indexed set is not similar to the one that was looked up.
  bool may_be_similar(const IndexedWeights &indexed) const;

 private:
  struct CodeMass {
    TokenCode code;
    double mass;
  };

  int class_of(double total) const;
  bool add_entries(int number, size_t most);

  const WeightedBounds bounds_;
  const bool classes_;           // whether totals are divided into classes
  WeightedKeys set_ = {};        // the set that is looked up
  bool compared_ = true;         // whether codes_ holds its tokens
  std::vector<CodeMass> codes_;  // of that set, ascending
  std::vector<TokenCode> entries_;
  std::vector<PrefixLookup> lookups_;
};

}  // namespace simjoin
