// The threshold of a similarity clause, as a number.
#pragma once

#include "pg/base/pg.hpp"

#include "core/join.hpp"
#include "pg/join/plan.hpp"

namespace simjoin::pg {

// Returns a threshold of one of the types that a similarity clause can have: float8, float4, int2, int4,
// int8.
double threshold_value(Datum value, Oid type);

// Returns the smallest double above the given one: `similarity > t` is `similarity >= next_above(t)`.
double next_above(double value);

// Returns whether a Jaccard distance is at most the limit (or below it, where strict), in the order that
// PostgreSQL gives doubles: one that is not a number is greater than any.
bool within_distance(double distance, double limit, bool strict);

// Returns a similarity that no two sets within that distance are below; not a number where no sets are, and 0
// exactly where all are. Few sets that reach it are beyond the distance.
double similarity_at_distance(double limit, bool strict);

// Evaluates a threshold of the clause to the similarity from which on it holds; not a number where nothing
// matches.
double clause_threshold(const JoinPlanFacts &facts, Datum value, bool isnull, Oid type);

// Removes the pairs of a batch of the engine that are beyond the distance, and returns how many these were.
size_t drop_beyond_distance(Batch *batch, const JoinEngine *engine, bool self_join, double limit,
                            bool strict);

}  // namespace simjoin::pg
