// A join of the rows of one or two queries, as the set-returning functions run it.
#pragma once

#include "pg/pg.hpp"

#include "core/join.hpp"
#include "pg/query_rows.hpp"

namespace simjoin::pg {

// A join's engine and the rows it was fed. All of it belongs to the context.
struct FunctionJoin {
  MemoryContext context;
  JoinEngine *engine;
  File spill_file;  // of the engine; 0 where it has none
  Batch *batch;
  Measure measure;
  Side right_side;  // that of a pair's right row
  QueryRows left;
  QueryRows right;
};

// Errors, naming `function` and `argument`, unless pairs of this similarity can exist and share an element;
// `zero_allowed`: a similarity of 0 is valid, too.
void check_similarity(const char *function, const char *argument, double value, Measure measure,
                      bool zero_allowed);

// Reads the queries; without a second one the first is joined with itself.
FunctionJoin *start_join(const char *function, Measure measure, double threshold, const char *left_query,
                         const char *right_query);

// Returns the similarity of the i-th pair of the batch.
double pair_similarity(const FunctionJoin &join, size_t i);

// Ends the join: nothing of it is left.
void end_join(FunctionJoin *join);

}  // namespace simjoin::pg
