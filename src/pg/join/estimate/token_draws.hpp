// How frequent the tokens of a column's sets are.
#pragma once

#include "pg/base/pg.hpp"

#include <string_view>

namespace simjoin::pg {

// A number that stands for a token: equal for equal tokens, and for different ones with negligible
// probability.
using TokenKey = uint64;

TokenKey token_key(int64 token);
TokenKey token_key(std::string_view token);

// The sets of about this size.
struct SizeGroup {
  double size;
  double share;  // their share of all sets
};

// Returns the probability that a set holds a token that it is expected to draw x times: 1 - exp(-x), with a
// cheaper series instead of the exponential function.
inline double holds(double x) {
  return 1.0 - 1.0 / (1.0 + x * (1.0 + x * (0.5 + x * (1.0 / 6.0))));
}

// How readily tokens are drawn: a set of n tokens holds one with probability holds(draw * n).
class TokenDraws {
 public:
  // Returns the draw of a token. rare() is that of any token that is not among the most common ones.
  double operator()(TokenKey token) const;
  double rare() const { return rare_; }

  // Enters the most common elements. frequencies[i] is the share of the sets that hold tokens[i]. The array
  // of tokens is kept.
  void fill(int count, const TokenKey *tokens, const float *frequencies, const SizeGroup *sizes,
            int size_count, double average_size);

  int count() const { return count_; }
  TokenKey token(int i) const { return tokens_[i]; }
  double draw(int i) const { return draws_[i]; }

 private:
  // Returns the slot of the token, or the free one where it would be.
  size_t slot_of(TokenKey token) const;

  int count_ = 0;
  const TokenKey *tokens_ = nullptr;
  float *draws_ = nullptr;
  double rare_ = 0;
  size_t slot_count_ = 0;
  int *slots_ = nullptr;  // a hash table of positions, -1 where free
};

}  // namespace simjoin::pg
