// What a column's row of pg_statistic says about its sets: their sizes, the frequencies of their tokens, and
// a sample.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "access/htup.h"
}

#include "pg/join/estimate/token_draws.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {

// A set of the sample. It may have more tokens than are listed, whose frequencies are not known.
struct SampleSet {
  double size;
  double share;  // the share of all sets that it stands for
  bool real;  // the set is from the table, with all its tokens; else it was put together from frequent tokens
  int token_count;
  const TokenKey *tokens;
};

// A token of a real set of the sample.
struct SampleToken {
  TokenKey token;
  int set;  // its position in the sample
};

struct SetSketch {
  static constexpr int most_sizes = 96;
  static constexpr int most_samples = 96;
  double average_size;   // tokens a set
  double shared_tokens;  // tokens that two sets have in common, on average
  double null_share;     // the share of the rows with NULL
  double distinct;       // distinct values, as stadistinct of pg_statistic has them
  // Among the rows with a set: the share of rows with one of the most common values, the share of pairs of
  // rows with the same one, and the number of these values.
  double common;
  double common_pairs;
  int common_values;
  int size_count;
  SizeGroup sizes[most_sizes];  // ascending
  TokenDraws draws;
  int sample_count;
  SampleSet sample[most_samples];  // ascending by size
  int sample_token_count;
  SampleToken *sample_tokens;  // ascending, by token, then by set
};

// Returns the sketch of a column from its row of pg_statistic, or of usual sets where `statistics` is NULL.
// The session keeps the sketches of the columns that were asked for last. The pointer is valid until
// `kept_sketches` - 1 other columns have been asked for, or as long as the current memory context.
const SetSketch *set_sketch(HeapTuple statistics, TokenType type);
inline constexpr int kept_sketches = 16;

// Returns the average size of a column's sets, and how many tokens two of them share on average. The figures
// are those of the sketch, which is not made for them.
struct SetShape {
  double average_size;
  double shared_tokens;
};
SetShape sketch_shape(HeapTuple statistics, TokenType type, bool with_shared_tokens);

}  // namespace simjoin::pg
