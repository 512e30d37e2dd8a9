// A join of the rows of one or two queries, as the set-returning functions run it.
#pragma once

#include "pg/base/pg.hpp"

#include "core/join.hpp"
#include "pg/base/query_rows.hpp"
#include "pg/base/result_rows.hpp"

namespace simjoin::pg {

// A join's engine and the rows it was fed. All of it belongs to the context.
struct FunctionJoin {
  const char *function;
  MemoryContext context;
  JoinEngine *engine;
  File spill_file;  // of the engine; 0 where it has none
  Batch *batch;
  Measure measure;
  Side right_side;  // that of a pair's right row
  QueryRows left;
  QueryRows right;
};

// Returns a join that has neither an engine, which is to live in its context, nor rows.
FunctionJoin *create_function_join(const char *function, Measure measure, bool self_join);

// Gives the join the engine that the settings ask for.
void create_function_engine(FunctionJoin *join, double threshold);

// Feeds the engine with the rows of the queries, in a self-join of the first.
void read_inputs(FunctionJoin *join, const char *left_query, const char *right_query);

// Returns a join of the engine that the settings ask for, fed; without a second query the first is joined
// with itself.
FunctionJoin *start_join(const char *function, Measure measure, double threshold, const char *left_query,
                         const char *right_query);

// Returns the similarity of the i-th pair of the batch.
double pair_similarity(const FunctionJoin &join, size_t i);

// Adds every pair to the call's result as (a, b, similarity). Where `compared` is not 0, overlaps are not of
// the sets but of so many values of their signatures, and the similarity is the share of them.
void return_pairs(FunctionJoin *join, ResultRows *result, uint32_t compared = 0);

// Ends the join, and tells what it has run on: nothing of it is left.
void end_join(FunctionJoin *join);

}  // namespace simjoin::pg
