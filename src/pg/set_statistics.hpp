// What PostgreSQL's statistics say about the sets of one side of a join: how large they are, how frequent
// which tokens, and a sample of them.
#pragma once

#include "pg/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

#include "pg/set_codec.hpp"

namespace simjoin::pg {

// A number that stands for a token: equal for equal tokens, and for different ones with negligible
// probability.
using TokenKey = uint64;

// The sets of about this size.
struct SizeGroup {
  double size;
  double share;  // of all sets
};

// A set of the sample. Its tokens are ascending by key; it may have more, whose frequency is not known.
struct SampleSet {
  double size;
  double share;  // of all sets that it stands for
  bool real;     // from the table, with all its tokens; else put together from frequent tokens
  int token_count;
  const TokenKey *tokens;
};

// Returns the probability that a set holds a token of which it is expected to draw so many: 1 - exp(-x), but
// for a cheaper series in the place of the exponential function.
inline double holds(double x) {
  return 1.0 - 1.0 / (1.0 + x * (1.0 + x * (0.5 + x * (1.0 / 6.0))));
}

// The draws of tokens by the share of the sets that hold them: a table of the shares at powers of two.
class DrawTable {
 public:
  void fill(const SizeGroup *sizes, int size_count);
  double draw_of(double frequency) const;

 private:
  static constexpr int entries = 30;
  static constexpr double largest_draw = 2;
  double frequency_[entries];  // at the largest draw, half of it, a quarter of it, ...
};

// How readily tokens are drawn: a set of n tokens holds one with probability holds(draw * n).
class TokenDraws {
 public:
  // Returns the draw of a token, and of any that is not among the most common ones.
  double operator()(TokenKey token) const;
  double rare() const { return rare_; }

  // Enters the most common elements; frequency[i] is the share of the sets that hold token[i]. Keeps both.
  void fill(int count, const TokenKey *tokens, const float *frequencies, const SizeGroup *sizes,
            int size_count, double average_size);

  int count() const { return count_; }
  TokenKey token(int i) const { return tokens_[i]; }
  double draw(int i) const { return table_.draw_of(frequencies_[i]); }

 private:
  int count_ = 0;
  const TokenKey *tokens_ = nullptr;
  const float *frequencies_ = nullptr;
  DrawTable table_;
  double rare_ = 0;
  uint32 slot_mask_ = 0;
  int *slots_ = nullptr;  // a hash table of positions, -1 where free
};

struct SetStatistics {
  static constexpr int most_sizes = 96;
  static constexpr int most_samples = 128;
  double rows;          // with a set that is not NULL
  double table_rows;    // the same before the conditions on the relation alone
  double average_size;  // tokens a set
  int size_count;
  SizeGroup sizes[most_sizes];  // ascending
  double copies;                // how many rows hold the same set, on average
  double repeated;              // the share of the rows whose set another row holds, too
  double equal_share;           // the share of the pairs of rows whose sets are equal
  TokenDraws draws;
  int sample_count;
  SampleSet sample[most_samples];
};

// Reads the statistics of a set expression over a relation into *statistics; without any, assumes usual sets.
// Allocates in the current memory context.
void read_set_statistics(PlannerInfo *root, double rows, Expr *set, TokenType type,
                         SetStatistics *statistics);

// What the work of comparing sets depends on.
struct SetShape {
  double average_size;   // tokens a set
  double shared_tokens;  // that two sets share on average
};

// Returns the shape of a set expression, from the statistics where there are any. `root` may be NULL.
SetShape set_shape(PlannerInfo *root, Node *set, TokenType type);

}  // namespace simjoin::pg
