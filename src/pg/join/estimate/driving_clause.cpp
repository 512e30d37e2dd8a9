#include "pg/join/estimate/driving_clause.hpp"

extern "C" {
#include "nodes/value.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
}

#include "pg/base/growing_array.hpp"
#include "pg/join/estimate/sampled_pairs.hpp"
#include "pg/join/estimate/selectivity.hpp"

namespace simjoin::pg {
namespace {

constexpr double fewest_pairs = 1e6;

// Costs in calls of a simple operator, as in plan/cost.
constexpr double operators_per_token = 1.0;
constexpr double operators_per_posting = 0.1;
constexpr double operators_per_candidate = 5.0;
constexpr double operators_per_match = 20.0;

// A clause, with what the sample says of it.
struct JudgedClause {
  SimilarityClause *clause;
  double selectivity;  // of the planner
  double candidates;   // of the whole join
  double cost;
};

double operators_of(PlannerInfo *root, Node *expr) {
  QualCost cost;
  cost_qual_eval_node(&cost, expr, root);
  return cost.per_tuple / cpu_operator_cost;
}

// Returns the cost of evaluating the conditions beside the clause on a pair.
double operators_of_filter(PlannerInfo *root, List *restrictlist, const SimilarityClause &clause) {
  double operators = 0;
  ListCell *cell;
  foreach (cell, restrictlist)
    if (lfirst(cell) != clause.rinfo) operators += operators_of(root, static_cast<Node *>(lfirst(cell)));
  return operators;
}

// Estimates the clause as driving. `pairs` are those that no equality clause keeps apart.
void judge(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner, List *restrictlist, double pairs,
           const SampledPairs &sample, JudgedClause *judged) {
  const SimilarityClause &clause = *judged->clause;
  judged->candidates = pairs * sample.share_of(sample.candidates, judged->selectivity);
  const double similar = pairs * sample.share_of(sample.similar, judged->selectivity);
  const double left = outer->rows * (sample.tokens[0] * operators_per_token +
                                     operators_of(root, reinterpret_cast<Node *>(clause.left)));
  const double right = inner->rows * (sample.tokens[1] * operators_per_token +
                                      operators_of(root, reinterpret_cast<Node *>(clause.right)));
  judged->cost = left + right + pairs * sample.postings / sample.pairs * operators_per_posting +
                 judged->candidates * operators_per_candidate +
                 similar * (operators_per_match + operators_of_filter(root, restrictlist, clause));
}

// Judges all clauses. Returns NULL, or why there is no sample of one of them.
const char *judge_all(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner, List *restrictlist,
                      double pairs, JudgedClause *judged, int count) {
  for (int i = 0; i < count; ++i) {
    SampledPairs sample;
    const char *why_not =
        count_sampled_pairs(root, *judged[i].clause, planned_bounds(*judged[i].clause), &sample);
    if (why_not != nullptr) return why_not;
    judge(root, outer, inner, restrictlist, pairs, sample, &judged[i]);
  }
  return nullptr;
}

// Returns whether the first clause is clearly the better one. What the sample cannot tell apart, the
// planner's selectivity decides.
bool better(const JudgedClause &a, const JudgedClause &b) {
  return a.cost < b.cost || (a.cost == b.cost && a.selectivity < b.selectivity);
}

}  // namespace

bool worth_sample(double pairs) {
  return pairs >= fewest_pairs;
}

ClauseChoice choose_driving_clause(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner, List *clauses,
                                   List *restrictlist, List *partition_clauses, SpecialJoinInfo *sjinfo) {
  const int count = list_length(clauses);
  auto *judged = allocate<JudgedClause>(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    auto *clause = static_cast<SimilarityClause *>(list_nth(clauses, i));
    judged[i] = {clause, pair_selectivity(root, *clause, sjinfo), 0, 0};
  }
  ClauseChoice choice = {};
  const double pairs =
      outer->rows * inner->rows * clauselist_selectivity(root, partition_clauses, 0, JOIN_INNER, sjinfo);
  const bool sampled = count > 1 && worth_sample(outer->rows * inner->rows);
  if (sampled) choice.why_not = judge_all(root, outer, inner, restrictlist, pairs, judged, count);
  if (choice.why_not != nullptr)
    for (int i = 0; i < count; ++i) judged[i].cost = 0;
  int best = 0;
  for (int i = 1; i < count; ++i)
    if (better(judged[i], judged[best])) best = i;
  for (int n = 0; n < count; ++n) {
    const JudgedClause &next = judged[n == 0 ? best : n <= best ? n - 1 : n];
    choice.clauses = lappend(choice.clauses, next.clause);
    if (sampled && choice.why_not == nullptr)
      choice.candidates = lappend(choice.candidates, makeFloat(psprintf("%.0f", next.candidates)));
  }
  return choice;
}

}  // namespace simjoin::pg
