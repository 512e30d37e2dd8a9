#include "pg/join/clause/method.hpp"

extern "C" {
#include "lib/stringinfo.h"
}

#include "core/base/memory_shares.hpp"
#include "core/lsh/lsh_plan.hpp"
#include "pg/base/settings.hpp"

namespace simjoin::pg {
namespace {

// Returns why a join cannot be done by bands, NULL where it can.
const char *why_not_by_bands(Measure measure, double threshold, JoinType jointype, bool weighted) {
  // In an outer or anti join, a missed pair would make up a row without a partner.
  if (jointype != JOIN_INNER && jointype != JOIN_SEMI) return "outer and anti joins have to know every pair";
  if (measure == Measure::overlap) return "MinHash does not tell how many tokens are shared";
  if (!(threshold > 0 && threshold <= 1)) return "the threshold is not above 0 and at most 1";
  // Their squared weights would be signed. Two sets of a cosine of 0.5 can have 0.07 of these in common.
  if (weighted && measure == Measure::cosine)
    return "MinHash leaves too many candidates for the cosine of weights";
  if (least_jaccard(measure, threshold) <= 0) return "MinHash does not find a small set within a large one";
  return nullptr;
}

}  // namespace

JoinMethod choose_method(Measure measure, double threshold, JoinType jointype, bool weighted) {
  JoinMethod choice = {};
  if (Settings::method() == Method::exact) return choice;
  choice.refused = why_not_by_bands(measure, threshold, jointype, weighted);
  if (choice.refused != nullptr) return choice;
  const double jaccard = least_jaccard(measure, threshold);
  choice.by_bands = true;
  choice.plan = plan_for_recall(jaccard, Settings::target_recall(), Settings::minhash_permutations());
  choice.recall = candidate_probability(choice.plan, jaccard);
  return choice;
}

bool may_stream(const JoinMethod &method, double threshold, bool same_rows) {
  return !same_rows && !method.by_bands && !(threshold <= 0) &&
         Settings::algorithm() == Algorithm::automatic && Settings::device() != Device::gpu;
}

LshSpec band_join_spec(const JoinMethod &choice, RowMeasure measure, double threshold, bool self_join,
                       size_t memory_limit) {
  LshSpec spec;
  spec.measure = measure.measure;
  spec.weighted = measure.weighted;
  spec.threshold = threshold;
  spec.self_join = self_join;
  spec.permutations = choice.plan.bands * choice.plan.rows;  // more values would serve nothing
  spec.seed = Settings::minhash_seed();
  spec.plan = choice.plan;
  spec.max_bucket_size = Settings::max_bucket_size();
  Settings::set_resources(&spec);
  spec.memory_limit = engine_share(memory_limit);
  return spec;
}

double share_of_comparisons(const ChainedBucket &bucket, const LshStats &stats) {
  return 100.0 * static_cast<double>(bucket.comparisons) / static_cast<double>(stats.comparisons);
}

char *largest_buckets(const LshStats &stats) {
  StringInfoData list;
  initStringInfo(&list);
  for (const ChainedBucket &bucket : stats.largest) {
    if (bucket.rows == 0) break;
    appendStringInfo(&list, "%s" UINT64_FORMAT " rows (%.1f%%)", list.len > 0 ? ", " : "", bucket.rows,
                     share_of_comparisons(bucket, stats));
  }
  return list.data;
}

void report_chained_buckets(const LshStats &stats, const char *who) {
  if (stats.chained_buckets == 0) return;
  char *largest = largest_buckets(stats);
  ereport(NOTICE,
          (errmsg("%s: " UINT64_FORMAT " buckets of more than %u rows were chained", who,
                  stats.chained_buckets, Settings::max_bucket_size()),
           errdetail("The largest buckets, each with the share of all comparisons that comparing all its "
                     "rows with each other would be: "
                     "%s. The rows of a chained bucket are compared only with its first row.",
                     largest),
           errhint("Raise simjoin.max_bucket_size, or leave out rows that are the same as many others.")));
  pfree(largest);
}

}  // namespace simjoin::pg
