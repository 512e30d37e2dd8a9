// Nearest neighbours of a few rows, by an index on the sets of the right query.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/functions/join_call.hpp"
#include "pg/query/result_rows.hpp"

namespace simjoin::pg {

// Which neighbours of a left row a call asks for.
struct NeighborChoice {
  uint32 k;      // the nearest ones
  double least;  // their least similarity
  bool ties;     // those, too, that are as similar as the k-th
};

// Adds the nearest right rows of each left row to the result, as (a, b, similarity, rank). `schema` is that
// of the measures. Returns false, without rows, where the planner has no way that costs less than to read
// both queries once and to join them. Errors, naming the function, as a join does.
bool return_indexed_neighbors(const JoinCall &call, const NeighborChoice &choice, Oid schema,
                              ResultRows *result);

}  // namespace simjoin::pg
