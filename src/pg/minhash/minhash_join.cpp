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
#include "core/lsh/lsh_plan.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/computation_memory.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/named_arguments.hpp"
#include "pg/base/settings.hpp"
#include "pg/computation/gpu_notices.hpp"
#include "pg/computation/watch.hpp"
#include "pg/functions/join_functions.hpp"
#include "pg/join/clause/method.hpp"
#include "pg/minhash/minhash_values.hpp"

namespace simjoin::pg {
namespace {

// Returns the bands and rows that find the share of the pairs on the threshold that the call asks for.
BandPlan plan_of_recall(const NamedArguments &arguments, double threshold, int32 permutations,
                        const char *what, const char *function) {
  const double recall = arguments.real("recall");
  if (!(recall > 0 && recall < 1))
    raise_argument(
        function, "recall", recall,
        psprintf("It is a share above 0 and below 1, as in recall => 0.97. Give %s by their name.", what));
  if (!arguments.is_null("bands") || !arguments.is_null("rows"))
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s: recall and bands are given", function),
             errhint("Give recall, or bands and rows.")));
  const BandPlan plan = plan_for_recall(threshold, recall, static_cast<uint32_t>(permutations));
  const double reached = candidate_probability(plan, threshold);
  if (reached < recall)
    ereport(NOTICE, (errmsg("%s: %d %s find %.1f %% of the pairs on the threshold", function, permutations,
                            what, 100 * reached),
                     errhint("Give more %s, or a lower recall.", what)));
  return plan;
}

// Returns the bands and rows that the call asks for, or the best ones.
BandPlan plan_of(const NamedArguments &arguments, double threshold, int32 permutations, const char *what,
                 const char *function) {
  if (!arguments.is_null("recall")) return plan_of_recall(arguments, threshold, permutations, what, function);
  const bool no_bands = arguments.is_null("bands"), no_rows = arguments.is_null("rows");
  if (no_bands && no_rows) return best_band_plan(threshold, static_cast<uint32_t>(permutations));
  if (no_bands || no_rows)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s: %s is NULL", function, no_bands ? "bands" : "rows"),
                    errhint("Give both bands and rows, or neither.")));
  const int32 bands = arguments.integer("bands"), rows = arguments.integer("rows");
  if (bands < 1 || rows < 1 || int64{bands} * rows > permutations)
    ereport(
        ERROR,
        (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s: %d bands of %d rows", function, bands, rows),
         errhint("Both are at least 1, and their product is at most %s, %d.", what, permutations)));
  return {static_cast<uint32_t>(bands), static_cast<uint32_t>(rows)};
}

// Returns the specification of the call.
LshSpec spec_of(const NamedArguments &arguments, bool weighted, const char *function) {
  const char *what = weighted ? "samples" : "permutations";
  LshSpec spec;
  spec.weighted = weighted;
  spec.threshold = arguments.real("threshold");
  check_share(spec.threshold, function, "threshold");
  const int32 permutations = arguments.integer(what);
  check_permutations(permutations, function, what);
  spec.seed = static_cast<uint64_t>(arguments.bigint("seed"));
  spec.plan = plan_of(arguments, spec.threshold, permutations, what, function);
  spec.verify = !arguments.has("verify") || arguments.boolean("verify");
  // Estimates need all values, and bands only their own.
  spec.permutations = spec.verify ? spec.plan.bands * spec.plan.rows : static_cast<uint32_t>(permutations);
  spec.max_bucket_size = Settings::max_bucket_size();
  Settings::set_resources(&spec);
  return spec;
}

// Joins the rows of both queries, or in a self-join the rows of the only query, by Jaccard similarity, with
// weights or without. Returns the pairs as (a, b, similarity).
Datum join_by_bands(FunctionCallInfo fcinfo, bool self_join, bool weighted, const char *function) {
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null(function, {"bands", "rows", "recall", "key", "left_key", "right_key", "tokens"});
  LshSpec spec = spec_of(arguments, weighted, function);
  spec.self_join = self_join;
  FunctionJoin *join = create_function_join(function, {Measure::jaccard, weighted}, self_join);
  join->left_key = key_argument(arguments, self_join ? "key" : "left_key", result.column_type(0));
  if (!self_join) join->right_key = key_argument(arguments, "right_key", result.column_type(1));
  join->tokenizer = arguments.optional_string("tokens");
  spec.memory_limit = engine_share(memory_limit_of(join->context));
  prepare_gpu_use();
  LshJoin *engine = own(join->context, [&] { return make_lsh_join(spec); });
  watch_join(engine, join->context, join->function);
  join->engine = engine;
  read_inputs(join, arguments.string(self_join ? "query" : "left_query"),
              self_join ? nullptr : arguments.string("right_query"));
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
