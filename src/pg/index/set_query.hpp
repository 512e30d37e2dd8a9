// The type similarity_query: a set, and how similar to it other sets are to be.
#pragma once

#include "pg/base/pg.hpp"

#include "core/measure.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {

// What a similarity_query asks for. `set` points into the value.
struct SetQuery {
  Measure measure;   // of this set and another one
  bool distance;     // the threshold is the largest Jaccard distance, and not the smallest similarity
  double threshold;  // as written
  SetView set;
};

// Returns a query for sets that are at least this similar to this one.
Datum make_similarity_query(Datum array, Measure measure, double threshold);

// Returns a query for sets within a Jaccard distance of this one.
Datum make_distance_query(Datum array, double distance);

// Returns what the value, which only similarity_query() can have made, asks for. It is detoasted in the
// current memory context where it has to be.
SetQuery read_set_query(Datum value);

// Returns the similarity that every set that satisfies the query has: NaN where none does, and 0 or less
// where all do.
double least_similarity(const SetQuery &query);

}  // namespace simjoin::pg
