// The threshold of a similarity clause, as a number.
#pragma once

#include "pg/base/pg.hpp"

#include "core/join.hpp"
#include "pg/join/clause/facts.hpp"

namespace simjoin::pg {

// Returns a threshold as a double. A similarity clause can have one of the types float8, float4, int2, int4,
// int8.
double threshold_value(Datum value, Oid type);

// Returns the smallest double above the given one: `similarity > t` is `similarity >= next_above(t)`.
double next_above(double value);

// Returns whether a Jaccard distance is at most the limit, or below it where `strict`. As PostgreSQL orders
// doubles, NaN is greater than any number.
bool within_distance(double distance, double limit, bool strict);

// Returns a similarity that all pairs of sets within the distance reach. It is NaN where no sets are within
// it, and 0 exactly where all are. Few pairs that reach it are beyond the distance.
double similarity_at_distance(double limit, bool strict);

// Returns the similarity from which on the clause holds with this threshold, NaN where nothing matches.
double clause_threshold(const JoinPlanFacts &facts, Datum value, bool isnull, Oid type);

// Removes the pairs that are beyond the distance from a batch of the engine. Returns how many these were.
size_t drop_beyond_distance(Batch *batch, const JoinEngine *engine, bool self_join, double limit,
                            bool strict);

}  // namespace simjoin::pg
