// Similarity joins as set-returning SQL functions over queries.
#include "pg/functions/join_functions.hpp"
#include "pg/base/computation_memory.hpp"

extern "C" {
#include "utils/lsyscache.h"
#include "utils/memutils.h"
}

#include <algorithm>
#include <limits>

#include "core/base/memory_shares.hpp"
#include "core/join.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/named_arguments.hpp"
#include "pg/base/settings.hpp"
#include "pg/computation/engine.hpp"
#include "pg/computation/gpu_notices.hpp"
#include "pg/computation/watch.hpp"
#include "pg/functions/indexed_neighbors.hpp"
#include "pg/functions/join_call.hpp"
#include "pg/functions/neighbor_lists.hpp"

namespace simjoin::pg {

FunctionJoin *create_function_join(const char *function, RowMeasure measure, bool self_join) {
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "similarity join", ALLOCSET_DEFAULT_SIZES);
  auto *join = static_cast<FunctionJoin *>(MemoryContextAllocZero(context, sizeof(FunctionJoin)));
  give_up_at_conflict(context);
  join->function = function;
  join->context = context;
  join->batch = create_batch(context);
  join->measure = measure;
  join->right_side = self_join ? Side::left : Side::right;
  return join;
}

void create_function_engine(FunctionJoin *join, double threshold) {
  join->threshold = threshold;
  JoinSpec spec = spec_from_settings(join->measure.measure, threshold, memory_limit_of(join->context));
  spec.self_join = join->right_side == Side::left;
  spec.by_rarity = join->measure.by_rarity;
  join->engine = create_engine(spec, join->measure.weighted, join->context, join->function);
}

QueryRows read_side(FunctionJoin *join, Side side, const char *query, KeyNumbers numbers, SetCopies *copies,
                    RowSample *sample, EqualRows *equal) {
  const bool right = side == Side::right;
  return read_rows(
      query, {join->function, join->engine, &join->spill_file, side, join->context,
              right ? &join->left : nullptr, copies, right ? join->right_key : join->left_key,
              join->tokenizer, numbers, join->measure.has_weights_in_rows(), sample, equal, join->in_order});
}

void read_inputs(FunctionJoin *join, const char *left_query, const char *right_query,
                 KeyNumbers right_numbers) {
  const bool self_join = join->right_side == Side::left;
  join->left =
      read_side(join, Side::left, left_query, self_join ? KeyNumbers::distinct : KeyNumbers::as_they_come);
  join->right = self_join ? join->left : read_side(join, Side::right, right_query, right_numbers);
}

double pair_similarity(const FunctionJoin &join, size_t i) {
  if (join.measure.weighted) return join.batch->similarity[i];
  return similarity(join.measure.measure, join.batch->overlap[i],
                    join.engine->set_size(Side::left, join.batch->left[i]),
                    join.engine->set_size(join.right_side, join.batch->right[i]));
}

namespace {

// Adds the i-th pair of a self-join's batch in each order that reaches the threshold.
void return_orders(const FunctionJoin &join, size_t i, ResultRows *result) {
  const uint32_t rows[] = {join.batch->left[i], join.batch->right[i]};
  for (int first = 0; first < 2; ++first) {
    const uint32_t a = rows[first], b = rows[1 - first];
    const double reached =
        similarity(join.measure.measure, join.batch->overlap[i], join.engine->set_size(Side::left, a),
                   join.engine->set_size(Side::left, b));
    if (reached >= join.threshold)
      result->add({key_at(join.left.keys, join.left.ids[a], 0), key_at(join.left.keys, join.left.ids[b], 1),
                   Float8GetDatum(reached)});
  }
}

}  // namespace

void return_pairs(FunctionJoin *join, ResultRows *result, uint32_t compared) {
  const bool self_join = join->right_side == Side::left;
  while (next_batch(join->engine, &join->spill_file, join->batch)) {
    for (size_t i = 0; i < join->batch->size(); ++i) {
      if (self_join && !is_symmetric(join->measure.measure)) {
        return_orders(*join, i, result);
        continue;
      }
      int64 a = join->left.ids[join->batch->left[i]], b = join->right.ids[join->batch->right[i]];
      if (self_join && a > b) std::swap(a, b);
      const double similarity =
          compared == 0 ? pair_similarity(*join, i) : static_cast<double>(join->batch->overlap[i]) / compared;
      result->add(
          {key_at(join->left.keys, a, 0), key_at(join->right.keys, b, 1), Float8GetDatum(similarity)});
    }
  }
}

void end_join(FunctionJoin *join) {
  report_device(join->function, join->engine);
  close_spill_file(&join->spill_file);
  close_row_keys(join->left.keys);
  if (join->right.keys != join->left.keys) close_row_keys(join->right.keys);
  MemoryContextDelete(join->context);
}

namespace {

// Returns, for each left row, the most similar right rows.
NeighborLists find_neighbors(FunctionJoin *join, const NeighborChoice &choice) {
  const size_t limit = memory_limit_of(join->context);
  const bool has_keys = !are_integers(join->left.keys) || !are_integers(join->right.keys);
  const NeighborLists lists =
      create_neighbor_lists(join->left.count(), choice.k, choice.ties,
                            has_keys ? pair_share_beside_keys(limit) : pair_share(limit), join->context);
  while (next_batch(join->engine, &join->spill_file, join->batch))
    for (size_t i = 0; i < join->batch->size(); ++i)
      add_neighbor(lists, join->batch->left[i],
                   {pair_similarity(*join, i), join->right.ids[join->batch->right[i]]});
  return lists;
}

// Adds the neighbors to the call's result as (a, b, similarity, rank), and ends the join.
void return_neighbors(FunctionJoin *join, const NeighborLists &lists, ResultRows *result) {
  for (size_t row = 0; row < join->left.count(); ++row) {
    check_interrupts();
    order_neighbors(lists, row);
    const NeighborList &list = lists.lists[row];
    return_rows(list.count, [&](size_t i) {
      result->add({key_at(join->left.keys, join->left.ids[row], 0),
                   key_at(join->right.keys, list.data[i].id, 1), Float8GetDatum(list.data[i].similarity),
                   Int32GetDatum(static_cast<int32>(i + 1))});
    });
  }
  end_join(join);
}

// Returns the call of a function, with its keys of the types of the result's columns. NULLs are checked.
JoinCall call_with(const NamedArguments &arguments, const char *function, const ResultRows &result) {
  const bool self_join = arguments.has("query");
  const KeyArgument left = key_argument(arguments, self_join ? "key" : "left_key", result.column_type(0));
  return {function,
          arguments.string(self_join ? "query" : "left_query"),
          self_join ? nullptr : arguments.string("right_query"),
          row_measure_by_name(arguments.string("measure"), function),
          left,
          self_join ? left : key_argument(arguments, "right_key", result.column_type(1)),
          arguments.optional_string("tokens")};
}

// Returns a join of the rows of the call, whose engine is fed.
FunctionJoin *start_join(const JoinCall &call, double threshold, KeyNumbers right_numbers) {
  FunctionJoin *join = create_function_join(call.function, call.measure, call.right_query == nullptr);
  join->left_key = call.left_key;
  join->right_key = call.right_key;
  join->tokenizer = call.tokenizer;
  create_function_engine(join, threshold);
  read_inputs(join, call.left_query, call.right_query, right_numbers);
  return join;
}

// Returns all pairs that a call of a function asks for.
Datum join_pairs(FunctionCallInfo fcinfo, const char *function) {
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null(function, {"key", "left_key", "right_key"});
  const JoinCall call = call_with(arguments, function, result);
  const double threshold = arguments.real("threshold");
  check_similarity(threshold, call.measure, call.function);
  FunctionJoin *join = start_join(call, threshold, KeyNumbers::as_they_come);
  if (call.right_query == nullptr) check_distinct_ids(join->left, call.function);
  return_pairs(join, &result);
  end_join(join);
  return 0;
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_similarity_self_join);
Datum simjoin_similarity_self_join(PG_FUNCTION_ARGS) {
  return join_pairs(fcinfo, "similarity_self_join");
}

PG_FUNCTION_INFO_V1(simjoin_similarity_join);
Datum simjoin_similarity_join(PG_FUNCTION_ARGS) {
  return join_pairs(fcinfo, "similarity_join");
}

PG_FUNCTION_INFO_V1(simjoin_similarity_neighbors);
Datum simjoin_similarity_neighbors(PG_FUNCTION_ARGS) {
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null("similarity_neighbors", {"key", "left_key", "right_key"});
  const JoinCall call = call_with(arguments, "similarity_neighbors", result);
  const int32 k = arguments.integer("k");
  const double least = arguments.real("min_similarity");
  check_count(k, INT_MAX, call.function, "k", "Ask for at least 1 neighbor of each row.");
  check_similarity(least, call.measure, call.function, "min_similarity", true);
  const NeighborChoice choice = {static_cast<uint32>(k), least,
                                 arguments.has("ties") && arguments.boolean("ties")};
  const Oid schema = get_func_namespace(fcinfo->flinfo->fn_oid);
  if (!call.measure.weighted && return_indexed_neighbors(call, choice, schema, &result)) return 0;
  // Without a least similarity, sets that share any element are neighbors.
  const double threshold = std::max(least, std::numeric_limits<double>::denorm_min());
  FunctionJoin *join = start_join(call, threshold, KeyNumbers::ordered);
  return_neighbors(join, find_neighbors(join, choice), &result);
  return 0;
}
}

}  // namespace simjoin::pg
