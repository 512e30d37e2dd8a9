#include "pg/join/plan/pair_searches.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"
}

#include "pg/join/estimate/selectivity.hpp"
#include "pg/join/exec/nearest_pairs.hpp"

namespace simjoin::pg {
namespace {

// By what factor all searches cost more than the last one, beside their inputs: they have fewer pairs.
constexpr double cost_of_earlier_searches = 2;

// An estimate of pairs must be clearly enough for a search to be expected to be the last one.
constexpr double clearly_enough = 2;

// Searches in vain may cost this share of a comparison of all pairs, by planned costs. A condition of a
// nested loop takes a quarter of what PostgreSQL plans for it, so this doubles the time at worst.
constexpr double share_in_vain = 0.25;
constexpr double operators_per_pair = 20;     // as in cost.cpp
constexpr double pairs_per_lookup = 10;       // that cost as much as one in an index
constexpr double fewest_pairs_in_vain = 1e5;  // some hundredths of a second

// Returns the condition that a search has with a threshold, which estimates use.
RestrictInfo *condition_of_search(PlannerInfo *root, Expr *call, double threshold, bool distance) {
  const Oid type = exprType(reinterpret_cast<Node *>(call));
  const Oid family = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
  const Oid op = get_opfamily_member(family, type, type,
                                     distance ? BTLessEqualStrategyNumber : BTGreaterEqualStrategyNumber);
  Const *value = type == INT4OID ? makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
                                             Int32GetDatum(static_cast<int32>(threshold)), false, true)
                                 : makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8),
                                             Float8GetDatum(threshold), false, FLOAT8PASSBYVAL);
  Expr *condition =
      make_opclause(op, BOOLOID, false, call, reinterpret_cast<Expr *>(value), InvalidOid, InvalidOid);
  return make_simple_restrictinfo(root, condition);
}

// Returns whether the join reads by an index, for each row of one side, those rows of the other one alone
// that meet all conditions.
bool finds_pairs_by_index(const Path *path) {
  if (path->pathtype != T_NestLoop) return false;
  const auto *join = reinterpret_cast<const ::JoinPath *>(path);
  const Path *inner = join->innerjoinpath;
  if (join->joinrestrictinfo != NIL || !IsA(inner, IndexPath) || inner->param_info == nullptr) return false;
  List *served = NIL;
  ListCell *cell;
  foreach (cell, reinterpret_cast<const IndexPath *>(inner)->indexclauses)
    served = lappend(served, lfirst_node(IndexClause, cell)->rinfo);
  return list_difference(inner->param_info->ppi_clauses, served) == NIL;
}

// Returns how many rows the query asks for.
double wanted_rows(const PlannerInfo *root, const RelOptInfo *joinrel) {
  if (root->limit_tuples > 0) return root->limit_tuples;
  return root->tuple_fraction < 1 ? root->tuple_fraction * joinrel->rows : root->tuple_fraction;
}

}  // namespace

SimilarityClause *clause_of_step(const PairsToSearch &pairs, const SimilarityClause &described, int step) {
  const double threshold = threshold_of_step(described.measure, described.distance, step);
  RestrictInfo *condition = condition_of_search(pairs.root, described.call, threshold, described.distance);
  List *clauses = find_similarity_clauses(pairs.root, pairs.joinrel, pairs.outer, pairs.inner, JOIN_INNER,
                                          list_make1(condition));
  if (list_length(clauses) != 1) return nullptr;
  auto *clause = static_cast<SimilarityClause *>(linitial(clauses));
  clause->ranked = true;
  return clause;
}

ExpectedSearches expect_searches(const PairsToSearch &pairs, const SimilarityClause &described,
                                 int first_step, int last_step) {
  const double others =
      clauselist_selectivity(pairs.root, pairs.extra->restrictlist, 0, JOIN_INNER, pairs.extra->sjinfo);
  ExpectedSearches expected = {};
  expected.wanted = wanted_rows(pairs.root, pairs.joinrel);
  for (int step = first_step; step <= last_step; ++step) {
    SimilarityClause *clause = clause_of_step(pairs, described, step);
    if (clause == nullptr) continue;
    const double share = others * pair_selectivity(pairs.root, *clause, pairs.extra->sjinfo);
    expected.order = clause;
    expected.step = step;
    expected.searches = step - first_step + 1;
    expected.rows = clamp_row_est(pairs.outer->rows * pairs.inner->rows * share);
    if (expected.rows >= clearly_enough * expected.wanted) break;
  }
  return expected;
}

double cost_of_searches(const ExpectedSearches &expected, const Path *join, const Path *input) {
  const double begin = join->startup_cost;
  double rest = input->total_cost - begin;
  // Pairs of equal sets come as they are found.
  if (expected.step == 0) return begin + rest * Min(expected.wanted / Max(expected.rows, 1.0), 1.0);
  // Where too few are expected, pairs of lower thresholds come, too.
  rest *= Max(expected.wanted / Max(expected.rows, 1.0), 1.0);
  return expected.searches * begin + (expected.searches > 1 ? cost_of_earlier_searches : 1) * rest;
}

int most_pairs_in_vain(const PairsToSearch &pairs, const Path *all) {
  QualCost conditions;
  cost_qual_eval(&conditions, pairs.extra->restrictlist, pairs.root);
  const double pair = operators_per_pair * cpu_operator_cost + conditions.per_tuple;
  double most = share_in_vain * all->total_cost / Max(pair, cpu_operator_cost);
  // Pairs that do not meet the conditions are none that the join reads, whatever is estimated.
  if (finds_pairs_by_index(all)) most = Min(most, pairs_per_lookup * pairs.outer->rows);
  return static_cast<int>(Min(Max(most, fewest_pairs_in_vain), static_cast<double>(PG_INT32_MAX)));
}

}  // namespace simjoin::pg
