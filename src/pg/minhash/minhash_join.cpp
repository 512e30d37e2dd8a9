// Joins by bands of signatures as set-returning SQL functions over queries.
#include "pg/base/pg.hpp"

extern "C" {
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"
}

#include <algorithm>

#include "core/base/memory_shares.hpp"
#include "core/lsh/lsh_join.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/settings.hpp"
#include "pg/functions/join_functions.hpp"
#include "pg/join/clause/method.hpp"
#include "pg/minhash/minhash_values.hpp"
#include "pg/work/gpu_notices.hpp"
#include "pg/work/watch.hpp"

namespace simjoin::pg {
namespace {

// The arguments after the queries, in order.
enum JoinArgument {
  threshold_argument,
  permutations_argument,
  bands_argument,
  rows_argument,
  verify_argument,
  seed_argument,
  first_key_argument,
  self_join_tokens_argument,
  second_key_argument = self_join_tokens_argument,  // where there are two queries
  tokens_argument
};

// Returns the bands and rows that the call asks for, or the best ones.
BandPlan plan_of(FunctionCallInfo fcinfo, int first, double threshold, int32 permutations, const char *what,
                 const char *function) {
  const bool no_bands = PG_ARGISNULL(first + bands_argument), no_rows = PG_ARGISNULL(first + rows_argument);
  if (no_bands && no_rows) return best_band_plan(threshold, static_cast<uint32_t>(permutations));
  if (no_bands || no_rows)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s: %s is NULL", function, no_bands ? "bands" : "rows"),
                    errhint("Give both bands and rows, or neither.")));
  const int32 bands = PG_GETARG_INT32(first + bands_argument), rows = PG_GETARG_INT32(first + rows_argument);
  if (bands < 1 || rows < 1 || int64{bands} * rows > permutations)
    ereport(
        ERROR,
        (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s: %d bands of %d rows", function, bands, rows),
         errhint("Both are at least 1, and their product is at most %s, %d.", what, permutations)));
  return {static_cast<uint32_t>(bands), static_cast<uint32_t>(rows)};
}

// Returns the specification of the call. `first` is the number of its first argument after the queries.
LshSpec spec_of(FunctionCallInfo fcinfo, int first, bool weighted, const char *function) {
  const char *what = weighted ? "samples" : "permutations";
  LshSpec spec;
  spec.weighted = weighted;
  spec.threshold = PG_GETARG_FLOAT8(first + threshold_argument);
  check_share(spec.threshold, function, "threshold");
  const int32 permutations = PG_GETARG_INT32(first + permutations_argument);
  check_permutations(permutations, function, what);
  spec.permutations = static_cast<uint32_t>(permutations);
  spec.seed = static_cast<uint64_t>(PG_GETARG_INT64(first + seed_argument));
  spec.plan = plan_of(fcinfo, first, spec.threshold, permutations, what, function);
  spec.verify = PG_GETARG_BOOL(first + verify_argument);
  spec.max_bucket_size = Settings::max_bucket_size();
  Settings::set_resources(&spec);
  spec.memory_limit = engine_share(Settings::memory_limit());
  return spec;
}

// Joins the rows of both queries, or in a self-join the rows of the only query, by Jaccard similarity, with
// weights or without. Returns the pairs as (a, b, similarity).
Datum join_by_bands(FunctionCallInfo fcinfo, bool self_join, bool weighted, const char *function) {
  ResultRows result(fcinfo);
  const int first = self_join ? 1 : 2;
  const int tokens = first + (self_join ? self_join_tokens_argument : tokens_argument);
  if (any_null(fcinfo, {first + bands_argument, first + rows_argument, first + first_key_argument,
                        first + second_key_argument, tokens}))
    return 0;
  LshSpec spec = spec_of(fcinfo, first, weighted, function);
  spec.self_join = self_join;
  FunctionJoin *join = create_function_join(function, {Measure::jaccard, weighted}, self_join);
  join->left_key =
      key_argument(fcinfo, first + first_key_argument, self_join ? "key" : "left_key", result.column_type(0));
  if (!self_join)
    join->right_key = key_argument(fcinfo, first + second_key_argument, "right_key", result.column_type(1));
  join->tokenizer = optional_string_argument(fcinfo, tokens);
  prepare_gpu_use();
  LshJoin *engine = own(join->context, [&] { return make_lsh_join(spec); });
  watch_join(engine, join->context, join->function);
  join->engine = engine;
  read_inputs(join, string_argument(fcinfo, 0), self_join ? nullptr : string_argument(fcinfo, 1));
  if (self_join) check_distinct_ids(join->left, function);
  return_pairs(join, &result, spec.verify ? 0 : spec.permutations);
  report_chained_buckets(engine->lsh_stats(), function);
  end_join(join);
  return 0;
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_minhash_self_join);
Datum simjoin_minhash_self_join(PG_FUNCTION_ARGS) {
  return join_by_bands(fcinfo, true, false, "minhash_self_join");
}

PG_FUNCTION_INFO_V1(simjoin_minhash_join);
Datum simjoin_minhash_join(PG_FUNCTION_ARGS) {
  return join_by_bands(fcinfo, false, false, "minhash_join");
}

PG_FUNCTION_INFO_V1(simjoin_weighted_minhash_self_join);
Datum simjoin_weighted_minhash_self_join(PG_FUNCTION_ARGS) {
  return join_by_bands(fcinfo, true, true, "weighted_minhash_self_join");
}

PG_FUNCTION_INFO_V1(simjoin_weighted_minhash_join);
Datum simjoin_weighted_minhash_join(PG_FUNCTION_ARGS) {
  return join_by_bands(fcinfo, false, true, "weighted_minhash_join");
}
}

}  // namespace simjoin::pg
