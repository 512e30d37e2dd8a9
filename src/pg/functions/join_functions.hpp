// A join of the rows of one or two queries, as the set-returning functions run it.
#pragma once

#include "pg/base/pg.hpp"

#include "core/join.hpp"
#include "pg/base/arguments.hpp"
#include "pg/query/query_rows.hpp"
#include "pg/query/result_rows.hpp"

namespace simjoin::pg {

// A join's engine and the rows that were fed to it. Everything belongs to the context.
struct FunctionJoin {
  const char *function;
  MemoryContext context;
  JoinEngine *engine;
  File spill_file;  // of the engine; 0 where it has none
  Batch *batch;
  RowMeasure measure;
  double threshold;
  Side right_side;  // the engine's side of a pair's right row
  KeyArgument left_key, right_key;
  const char *tokenizer;  // of both queries; nullptr where they return sets
  bool in_order;          // the order of rows matters even where a query has none
  QueryRows left;
  QueryRows right;
};

// Returns a join without engine and rows. Its engine is to live in its context.
FunctionJoin *create_function_join(const char *function, RowMeasure measure, bool self_join);

// Gives the join the engine that the settings ask for.
void create_function_engine(FunctionJoin *join, double threshold);

// Returns the query's rows, which are fed to a side of the join's engine. `numbers` says which numbers keys
// get.
QueryRows read_side(FunctionJoin *join, Side side, const char *query, KeyNumbers numbers,
                    SetCopies *copies = nullptr, RowSample *sample = nullptr, EqualRows *equal = nullptr);

// Feeds the engine with the rows of the queries. A self-join has the first query only, and distinct keys.
// `right_numbers` says which numbers the keys of the second query get.
void read_inputs(FunctionJoin *join, const char *left_query, const char *right_query,
                 KeyNumbers right_numbers = KeyNumbers::as_they_come);

// Returns the similarity of the i-th pair of the batch.
double pair_similarity(const FunctionJoin &join, size_t i);

// Adds every pair to the call's result as (a, b, similarity). In a self-join a < b, but an asymmetric measure
// has a row for each order of the pair that reaches the threshold. Where `compared` is not 0, an overlap
// counts equal values among the `compared` values of two signatures, and their share is the similarity.
void return_pairs(FunctionJoin *join, ResultRows *result, uint32_t compared = 0);

// Tells which device the join has run on, ends the join and frees it.
void end_join(FunctionJoin *join);

}  // namespace simjoin::pg
