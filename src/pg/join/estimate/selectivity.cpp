#include "pg/join/estimate/selectivity.hpp"

extern "C" {
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "utils/memutils.h"
}

#include <utility>

#include "pg/base/compat.hpp"
#include "pg/base/settings.hpp"
#include "pg/join/clause/disjunction.hpp"
#include "pg/join/clause/edits.hpp"
#include "pg/join/clause/implied.hpp"
#include "pg/join/clause/self_join.hpp"
#include "pg/join/estimate/estimate.hpp"
#include "pg/join/estimate/set_statistics.hpp"
#include "pg/join/estimate/sum_arms.hpp"

namespace simjoin::pg {
namespace {

// Assumed where the planner cannot know the threshold.
constexpr double usual_threshold = 0.7;
constexpr double usual_overlap = 20;

set_rel_pathlist_hook_type previous_rel_hook = nullptr;

double cross_product_rows(PlannerInfo *root, Relids relids) {
  double rows = 1;
  for (int relid = -1; (relid = bms_next_member(relids, relid)) >= 0;)
    rows *= Max(find_base_rel(root, relid)->rows, 1.0);
  return rows;
}

// Returns the SEMI or ANTI join that a clause over these relations is a condition of, NULL where it belongs
// to another join.
SpecialJoinInfo *join_for_matches(PlannerInfo *root, Relids left, Relids right) {
  ListCell *cell;
  foreach (cell, root->join_info_list) {
    auto *sjinfo = lfirst_node(SpecialJoinInfo, cell);
    if (sjinfo->jointype != JOIN_SEMI && sjinfo->jointype != JOIN_ANTI) continue;
    if (bms_overlap(left, sjinfo->syn_righthand) != bms_overlap(right, sjinfo->syn_righthand)) return sjinfo;
  }
  return nullptr;
}

// Returns the share of pairs of a row with itself among all pairs, in a join of a table with itself.
double same_row_share(const SetStatistics &statistics, RelOptInfo *left, RelOptInfo *right) {
  if (comparison_of_roles(left->joininfo, left->relid, right->relid) != compat::Comparison::other) return 0;
  return 1.0 / Max(same_conditions(left, right) ? statistics.rows : statistics.table_rows, 1.0);
}

// A clause's two sides, with their statistics.
struct Sides {
  RelOptInfo *left_rel, *right_rel;  // NULL where a side is an expression over several relations
  bool self;                         // both are the same set of the same table
  double left_rows, right_rows;
  SetStatistics left, right;
};

void read_sides(PlannerInfo *root, const SimilarityClause &clause, Relids left, Relids right, Sides *sides) {
  int relid;
  sides->left_rel = bms_get_singleton_member(left, &relid) ? find_base_rel(root, relid) : nullptr;
  sides->right_rel = bms_get_singleton_member(right, &relid) ? find_base_rel(root, relid) : nullptr;
  sides->self = sides->left_rel != nullptr && sides->right_rel != nullptr &&
                same_set_of_same_table(root, sides->left_rel, sides->right_rel, clause);
  sides->left_rows = cross_product_rows(root, left);
  sides->right_rows = cross_product_rows(root, right);
  sides->left = set_statistics(root, sides->left_rows, clause.left, clause.token_type);
  if (sides->self) {
    sides->right = sides->left;
    sides->right.rows *= sides->right_rows / sides->left_rows;
  } else {
    sides->right = set_statistics(root, sides->right_rows, clause.right, clause.token_type);
  }
}

// Returns the share of similar pairs among all pairs of rows. `share` is their share among the pairs of
// different rows that have a set.
Selectivity pairs_of(const Sides &sides, const Bounds &bounds, double share) {
  if (sides.self)
    share +=
        self_similar_rows(sides.left, bounds) * same_row_share(sides.left, sides.left_rel, sides.right_rel);
  return Min(share, 1.0) * (sides.left.rows / sides.left_rows) * (sides.right.rows / sides.right_rows);
}

// Returns the share of the left rows that have a similar right row. `share` is the share of rows with a set
// that are similar to another row.
Selectivity matched_of(const Sides &sides, const Bounds &bounds, double share) {
  if (sides.self && same_row_share(sides.left, sides.left_rel, sides.right_rel) > 0)
    share = Max(share, self_similar_rows(sides.left, bounds));
  return share * sides.left.rows / sides.left_rows;
}

void estimate_clause(PlannerInfo *root, SimilarityClause clause, RestrictInfo *rinfo) {
  Relids left = base_relids(root, clause.left), right = base_relids(root, clause.right);
  SpecialJoinInfo *matching = join_for_matches(root, left, right);
  if (matching != nullptr && bms_overlap(left, matching->syn_righthand)) {
    std::swap(left, right);
    std::swap(clause.left, clause.right);
    std::swap(clause.left_weights, clause.right_weights);
    clause.measure = reversed(clause.measure);
  }
  rinfo->norm_selec = rinfo->outer_selec = 1.0;
  const Bounds bounds = planned_bounds(clause);
  if (bounds.threshold() <= 0) return;
  Sides sides;
  read_sides(root, clause, left, right, &sides);
  const SimilarityEstimate estimate =
      estimate_similarity(sides.left, sides.right, bounds, sides.self, matching != nullptr);
  rinfo->norm_selec = pairs_of(sides, bounds, estimate.pairs);
  rinfo->outer_selec =
      matching == nullptr ? rinfo->norm_selec : matched_of(sides, bounds, estimate.matched_rows);
}

// Notes the selectivity of the clause: that of a disjunction that it implies, if any.
void set_selectivity_of_arms(PlannerInfo *root, RestrictInfo *rinfo) {
  RestrictInfo *disjunction = implied_disjunction(root, rinfo, nullptr, nullptr);
  if (disjunction == nullptr) return;
  rinfo->norm_selec = clause_selectivity(root, reinterpret_cast<Node *>(disjunction), 0, JOIN_INNER, nullptr);
  double matched = 0;
  ListCell *cell;
  foreach (cell, castNode(BoolExpr, disjunction->orclause)->args)
    matched += lfirst_node(RestrictInfo, cell)->outer_selec;
  rinfo->outer_selec = Min(matched, 1.0);
}

// Notes the selectivity of the clause if it is a similarity clause, or the least one of those that it
// implies.
void set_selectivity(PlannerInfo *root, RestrictInfo *rinfo) {
  SimilarityClause clause;
  for_each_condition(root, rinfo, set_selectivity);  // PostgreSQL combines them
  if (!describe_similarity_clause(root, rinfo, &clause)) {
    ListCell *cell;
    foreach (cell, implied_clauses(root, rinfo)) {
      RestrictInfo *implied = static_cast<SimilarityClause *>(lfirst(cell))->rinfo;
      set_selectivity(root, implied);
      if (implied->norm_selec < 0 || (rinfo->norm_selec >= 0 && rinfo->norm_selec < implied->norm_selec))
        continue;
      rinfo->norm_selec = implied->norm_selec;
      rinfo->outer_selec = implied->outer_selec;
    }
    if (rinfo->norm_selec < 0) set_selectivity_of_arms(root, rinfo);
    return;
  }
  MemoryContext work =
      AllocSetContextCreate(CurrentMemoryContext, "simjoin: row estimate", ALLOCSET_DEFAULT_SIZES);
  MemoryContext caller = MemoryContextSwitchTo(work);
  estimate_clause(root, clause, rinfo);
  MemoryContextSwitchTo(caller);
  MemoryContextDelete(work);
}

// Returns whether a similarity clause is between a set of the relation and a set from elsewhere, and makes
// the former its left set.
bool is_search(PlannerInfo *root, RelOptInfo *rel, SimilarityClause *clause) {
  Relids left = base_relids(root, clause->left), right = base_relids(root, clause->right);
  if (bms_is_empty(left)) {
    std::swap(clause->left, clause->right);
    std::swap(left, right);
    clause->measure = reversed(clause->measure);
  }
  int relid;
  return bms_is_empty(right) && bms_get_singleton_member(left, &relid) &&
         relid == static_cast<int>(rel->relid) &&
         (clause->from_settings || bms_is_empty(base_relids(root, clause->threshold)));
}

// Returns the share of the relation's rows that satisfy the clause, whose left set is theirs. The set that it
// looks for is taken for one like those. Says whether there are statistics of these.
double share_found(PlannerInfo *root, RelOptInfo *rel, const SimilarityClause &clause, bool *known) {
  const Bounds bounds = planned_bounds(clause);
  const SetStatistics sets = set_statistics(root, Max(rel->tuples, 1.0), clause.left, clause.token_type);
  *known = sets.known;
  if (bounds.threshold() <= 0) return 1;
  return Min(estimate_similarity(sets, sets, bounds, true, false).pairs + 1 / Max(sets.table_rows, 1.0), 1.0);
}

// Lets keys of texts be those of an index of the relation, if one serves them: it has statistics.
void take_keys_of_index(RelOptInfo *rel, SimilarityClause *clause) {
  const char *serves;
  ListCell *cell, *expression;
  foreach (cell, rel->indexlist) {
    foreach (expression, lfirst_node(IndexOptInfo, cell)->indexprs)
      if (take_indexed_keys(static_cast<Node *>(lfirst(expression)), clause, &serves)) return;
  }
}

// Returns the share of the relation's rows that satisfy the condition, or one that it implies. It is negative
// where the condition searches no sets of the relation, or none with statistics by what it implies.
double share_of_condition(PlannerInfo *root, RelOptInfo *rel, RestrictInfo *rinfo) {
  SimilarityClause clause;
  bool known;
  if (describe_search_clause(rinfo, &clause))
    return is_search(root, rel, &clause) ? share_found(root, rel, clause, &known) : -1;
  double least = -1;
  ListCell *cell;
  foreach (cell, implied_clauses(root, rinfo)) {
    clause = *static_cast<const SimilarityClause *>(lfirst(cell));
    take_keys_of_index(rel, &clause);
    if (!is_search(root, rel, &clause) ||
        !token_type_of(exprType(reinterpret_cast<Node *>(clause.left)), &clause.token_type))
      continue;
    const double share = share_found(root, rel, clause, &known);
    if (known && (least < 0 || share < least)) least = share;
  }
  return least;
}

// Notes how many rows satisfy the similarity clauses of the relation alone.
void set_search_selectivities(PlannerInfo *root, RelOptInfo *rel, bool has_children) {
  double share = 1;
  ListCell *cell;
  foreach (cell, rel->baserestrictinfo) {
    auto *rinfo = lfirst_node(RestrictInfo, cell);
    const double similar = share_of_condition(root, rel, rinfo);
    if (similar < 0) continue;
    const double assumed = rinfo->norm_selec;
    rinfo->norm_selec = rinfo->outer_selec = similar;
    if (assumed > 0) share *= rinfo->norm_selec / assumed;
  }
  if (share == 1) return;
  rel->rows = clamp_row_est(rel->rows * share);
  if (has_children) return;  // whose paths have these rows already
  foreach (cell, rel->pathlist) {
    auto *path = static_cast<Path *>(lfirst(cell));
    path->rows = clamp_row_est(path->rows * share);
  }
  foreach (cell, rel->partial_pathlist) {
    auto *path = static_cast<Path *>(lfirst(cell));
    path->rows = clamp_row_est(path->rows * share);
  }
}

// PostgreSQL calls this for each relation, once the sizes of all are known and before any join is planned.
void rel_pathlist_hook(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte) {
  if (previous_rel_hook != nullptr) previous_rel_hook(root, rel, rti, rte);
  if (IS_SIMPLE_REL(rel)) set_search_selectivities(root, rel, rte->inh);
  if (rel->reloptkind != RELOPT_BASEREL) return;
  ListCell *cell;
  foreach (cell, rel->joininfo) {
    auto *rinfo = lfirst_node(RestrictInfo, cell);
    if (rinfo->norm_selec < 0) set_selectivity(root, rinfo);
  }
}

// Returns the clause of the whole tables that a clause of their partitions was copied from, NULL where none
// is found.
RestrictInfo *clause_of_whole_tables(PlannerInfo *root, RelOptInfo *joinrel, const SimilarityClause &copy) {
  Relids tables = compat::without_outer_joins(root, joinrel->top_parent_relids);
  for (int relid = -1; (relid = bms_next_member(tables, relid)) >= 0;) {
    ListCell *cell;
    foreach (cell, find_base_rel(root, relid)->joininfo) {
      auto *rinfo = lfirst_node(RestrictInfo, cell);
      SimilarityClause clause;
      if (!bms_is_subset(rinfo->clause_relids, joinrel->top_parent_relids)) continue;
      if (!describe_similarity_clause(root, rinfo, &clause)) continue;
      if (clause.from_settings == copy.from_settings && clause.measure == copy.measure &&
          clause.weighted() == copy.weighted() && equal(clause.threshold, copy.threshold))
        return rinfo;
    }
  }
  return nullptr;
}

}  // namespace

Bounds planned_bounds(const SimilarityClause &clause) {
  if (clause.from_settings) return {Settings::measure(), Settings::similarity_threshold()};
  if (IsA(clause.threshold, Const)) return {clause.measure, constant_threshold(clause)};
  return {clause.measure, clause.measure == Measure::overlap ? usual_overlap : usual_threshold};
}

void install_selectivity_hook() {
  previous_rel_hook = set_rel_pathlist_hook;
  set_rel_pathlist_hook = rel_pathlist_hook;
}

double pair_selectivity(PlannerInfo *root, const SimilarityClause &clause, SpecialJoinInfo *sjinfo) {
  if (clause.rinfo->norm_selec < 0) set_selectivity(root, clause.rinfo);  // of an implied clause
  return clause_selectivity(root, reinterpret_cast<Node *>(clause.rinfo), 0, JOIN_INNER, sjinfo);
}

double candidate_share(PlannerInfo *root, const SimilarityClause &clause, const BandPlan &plan,
                       double average_jaccard) {
  // Lower ones take milliseconds on large sets.
  constexpr double levels[] = {0.6, 0.4, 0.25};
  MemoryContext work =
      AllocSetContextCreate(CurrentMemoryContext, "simjoin: candidate estimate", ALLOCSET_DEFAULT_SIZES);
  MemoryContext caller = MemoryContextSwitchTo(work);
  Sides sides;
  read_sides(root, clause, base_relids(root, clause.left), base_relids(root, clause.right), &sides);
  double share = 0, above = 0, next = 1;
  for (const double level : levels) {
    const Bounds bounds(Measure::jaccard, level);
    const double pairs =
        Max(pairs_of(sides, bounds,
                     estimate_similarity(sides.left, sides.right, bounds, sides.self, false).pairs),
            above);
    share += (pairs - above) * candidate_probability(plan, (level + next) / 2);
    above = pairs;
    next = level;
  }
  MemoryContextSwitchTo(caller);
  MemoryContextDelete(work);
  return share + (1 - above) * candidate_probability(plan, Min(average_jaccard, next / 2));
}

void estimate_partition_join(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                             SpecialJoinInfo *sjinfo, List *restrictlist) {
  bool found = false;
  ListCell *cell;
  foreach (cell, restrictlist) {
    auto *rinfo = lfirst_node(RestrictInfo, cell);
    SimilarityClause clause;
    if (!describe_similarity_clause(root, rinfo, &clause)) continue;
    RestrictInfo *whole = clause_of_whole_tables(root, joinrel, clause);
    if (whole == nullptr || whole->norm_selec < 0) continue;
    rinfo->norm_selec = whole->norm_selec;
    rinfo->outer_selec = whole->outer_selec;
    found = true;
  }
  if (found) set_joinrel_size_estimates(root, joinrel, outer, inner, sjinfo, restrictlist);
}

}  // namespace simjoin::pg
