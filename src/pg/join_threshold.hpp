// The threshold of a similarity clause, as a number.
#pragma once

#include "pg/pg.hpp"

namespace simjoin::pg {

// Returns a threshold of one of the types that a similarity clause can have: float8, float4, int2, int4,
// int8.
double threshold_value(Datum value, Oid type);

// Returns the smallest double above the given one: `similarity > t` is `similarity >= next_above(t)`.
double next_above(double value);

// Returns the smallest similarity s in [0, 1] with 1 - s <= distance (or <, where strict), to the bit; not a
// number where there is none.
double similarity_at_distance(double distance, bool strict);

}  // namespace simjoin::pg
