// Nearest neighbours of a few rows, by an index on the sets of the right query.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/functions/join_call.hpp"
#include "pg/query/result_rows.hpp"

namespace simjoin::pg {

// Adds the `k` nearest right rows of each left row, of at least the similarity `least`, to the result, as
// (a, b, similarity, rank). `schema` is that of the measures. Returns false, without rows, where the planner
// has no way that costs less than to read both queries once and to join them. Errors, naming the function, as
// a join does.
bool return_indexed_neighbors(const JoinCall &call, int32 k, double least, Oid schema, ResultRows *result);

}  // namespace simjoin::pg
