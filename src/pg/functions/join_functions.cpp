// Similarity joins as set-returning SQL functions over queries.
#include "pg/functions/join_functions.hpp"

extern "C" {
#include "utils/memutils.h"
}

#include <algorithm>
#include <limits>

#include "core/join.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/engine.hpp"
#include "pg/base/gpu_notices.hpp"
#include "pg/base/settings.hpp"
#include "pg/functions/neighbor_lists.hpp"

namespace simjoin::pg {

FunctionJoin *create_function_join(const char *function, Measure measure, bool self_join) {
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "similarity join", ALLOCSET_DEFAULT_SIZES);
  auto *join = static_cast<FunctionJoin *>(MemoryContextAllocZero(context, sizeof(FunctionJoin)));
  join->function = function;
  join->context = context;
  join->batch = create_batch(context);
  join->measure = measure;
  join->right_side = self_join ? Side::left : Side::right;
  return join;
}

void create_function_engine(FunctionJoin *join, double threshold) {
  JoinSpec spec = spec_from_settings(join->measure, threshold);
  spec.self_join = join->right_side == Side::left;
  join->engine = create_engine(spec, join->context);
}

void read_inputs(FunctionJoin *join, const char *left_query, const char *right_query) {
  join->left =
      read_rows(left_query, join->engine, &join->spill_file, Side::left, join->function, join->context);
  join->right = join->right_side == Side::left
                    ? join->left
                    : read_rows(right_query, join->engine, &join->spill_file, Side::right, join->function,
                                join->context, &join->left);
}

FunctionJoin *start_join(const char *function, Measure measure, double threshold, const char *left_query,
                         const char *right_query) {
  FunctionJoin *join = create_function_join(function, measure, right_query == nullptr);
  create_function_engine(join, threshold);
  read_inputs(join, left_query, right_query);
  return join;
}

double pair_similarity(const FunctionJoin &join, size_t i) {
  return similarity(join.measure, join.batch->overlap[i],
                    join.engine->set_size(Side::left, join.batch->left[i]),
                    join.engine->set_size(join.right_side, join.batch->right[i]));
}

void return_pairs(FunctionJoin *join, ResultRows *result, uint32_t compared) {
  const bool self_join = join->right_side == Side::left;
  while (next_batch(join->engine, &join->spill_file, join->batch)) {
    for (size_t i = 0; i < join->batch->size(); ++i) {
      int64 a = join->left.ids[join->batch->left[i]], b = join->right.ids[join->batch->right[i]];
      if (self_join && a > b) std::swap(a, b);
      const double similarity =
          compared == 0 ? pair_similarity(*join, i) : static_cast<double>(join->batch->overlap[i]) / compared;
      result->add({Int64GetDatum(a), Int64GetDatum(b), Float8GetDatum(similarity)});
    }
  }
}

void end_join(FunctionJoin *join) {
  report_device(join->function, join->engine);
  close_spill_file(&join->spill_file);
  MemoryContextDelete(join->context);
}

namespace {

// Returns, for each left row, the k most similar right rows, ordered.
NeighborList *find_neighbors(FunctionJoin *join, uint32 k) {
  const NeighborLists lists = create_neighbor_lists(join->left.count(), k, join->context);
  while (next_batch(join->engine, &join->spill_file, join->batch))
    for (size_t i = 0; i < join->batch->size(); ++i)
      add_neighbor(lists, join->batch->left[i],
                   {pair_similarity(*join, i), join->right.ids[join->batch->right[i]]});
  return lists.lists;
}

// Adds the neighbors to the call's result as (a, b, similarity, rank), and ends the join.
void return_neighbors(FunctionJoin *join, NeighborList *lists, ResultRows *result) {
  for (size_t row = 0; row < join->left.count(); ++row) {
    CHECK_FOR_INTERRUPTS();
    order_neighbors(&lists[row]);
    for (uint32 i = 0; i < lists[row].count; ++i)
      result->add({Int64GetDatum(join->left.ids[row]), Int64GetDatum(lists[row].data[i].id),
                   Float8GetDatum(lists[row].data[i].similarity), Int32GetDatum(static_cast<int32>(i + 1))});
  }
  end_join(join);
}

}  // namespace
}  // namespace simjoin::pg

using namespace simjoin;
using namespace simjoin::pg;

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_similarity_self_join);
Datum simjoin_similarity_self_join(PG_FUNCTION_ARGS) {
  constexpr const char *function = "similarity_self_join";
  ResultRows result(fcinfo);
  const Measure measure = measure_by_name(string_argument(fcinfo, 2), function);
  const double threshold = PG_GETARG_FLOAT8(1);
  check_similarity(threshold, measure, function);
  FunctionJoin *join = start_join(function, measure, threshold, string_argument(fcinfo, 0), nullptr);
  check_distinct_ids(join->left, function);
  return_pairs(join, &result);
  end_join(join);
  return 0;
}

PG_FUNCTION_INFO_V1(simjoin_similarity_join);
Datum simjoin_similarity_join(PG_FUNCTION_ARGS) {
  constexpr const char *function = "similarity_join";
  ResultRows result(fcinfo);
  const Measure measure = measure_by_name(string_argument(fcinfo, 3), function);
  const double threshold = PG_GETARG_FLOAT8(2);
  check_similarity(threshold, measure, function);
  FunctionJoin *join =
      start_join(function, measure, threshold, string_argument(fcinfo, 0), string_argument(fcinfo, 1));
  return_pairs(join, &result);
  end_join(join);
  return 0;
}

PG_FUNCTION_INFO_V1(simjoin_similarity_neighbors);
Datum simjoin_similarity_neighbors(PG_FUNCTION_ARGS) {
  constexpr const char *function = "similarity_neighbors";
  ResultRows result(fcinfo);
  const Measure measure = measure_by_name(string_argument(fcinfo, 4), function);
  const int32 k = PG_GETARG_INT32(2);
  check_count(k, INT_MAX, function, "k", "Ask for at least 1 neighbor of each row.");
  const double least = PG_GETARG_FLOAT8(3);
  check_similarity(least, measure, function, "min_similarity", true);
  // Without a least similarity, sets that share any element are neighbors.
  const double threshold = std::max(least, std::numeric_limits<double>::denorm_min());
  FunctionJoin *join =
      start_join(function, measure, threshold, string_argument(fcinfo, 0), string_argument(fcinfo, 1));
  return_neighbors(join, find_neighbors(join, static_cast<uint32>(k)), &result);
  return 0;
}
}
