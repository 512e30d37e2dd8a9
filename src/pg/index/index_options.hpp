// The parameters of an index on sets, as in CREATE INDEX ... USING gin (tokens int4_similarity_ops (threshold
// = 0.8)).
#pragma once

#include "pg/base/pg.hpp"

#include "core/lookup/token_order.hpp"
#include "core/measure.hpp"

namespace simjoin::pg {

inline constexpr double default_index_threshold = 0.7;

// Parameters as PostgreSQL stores them.
struct IndexOptions {
  int32 length;  // as of all varlenas
  int measure;
  double threshold;
  int frequent;  // offset of the text of the frequent tokens
  int bits;      // of an entry
};

// Returns whether the function, GIN's support function that extracts queries, is the one of an index on sets.
bool is_of_set_class(Oid extract_query);

// Returns whether the parameters are some with which an index can have been made.
bool are_valid_options(const bytea *options);

// Returns the lowest threshold that the index of these parameters, or of none, serves.
Bounds indexed_bounds(const bytea *options);

// Returns the bits of an entry of the index of these parameters.
int entry_bits(const bytea *options);

// Returns the order of tokens of an index of these parameters, or of none. The session keeps a few orders:
// the pointer is valid until the next call.
TokenOrder *index_order(const bytea *options);

// Returns the parameter `frequent`, which encodes the most frequent of the tokens that were counted.
char *frequent_parameter(TokenCounts *counts);

}  // namespace simjoin::pg
