#include "pg/join/plan/pairs_obstacle.hpp"

extern "C" {
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
}

#include "pg/base/compat.hpp"
#include "pg/base/obstacle.hpp"
#include "pg/base/settings.hpp"
#include "pg/join/clause/match.hpp"
#include "pg/join/plan/nearest_pairs.hpp"
#include "pg/join/plan/nested_loops.hpp"
#include "pg/join/plan/path.hpp"

namespace simjoin::pg {
namespace {

constexpr Obstacle too_expensive = {
    "the planner estimates another plan to be cheaper",
    "If the estimate is wrong, ANALYZE the tables. A smaller LIMIT, or a condition such as "
    "jaccard_similarity(l, r) >= 0.3, leaves fewer pairs."};

// The rows of the inputs of a join.
struct JoinedSides {
  PlannerInfo *root;
  Relids outer, inner;
};

bool computes_similarity_of(Node *expr, void *context) {
  if (expr == nullptr) return false;
  const auto *sides = static_cast<const JoinedSides *>(context);
  if (OidIsValid(called_function(expr)) && computes_similarity(expr)) {
    const Relids relids = pull_varnos(sides->root, expr);
    if (bms_overlap(relids, sides->outer) && bms_overlap(relids, sides->inner)) return true;
  }
  return compat::walk_children(expr, computes_similarity_of, context);
}

// Returns the number of the first sort key, from 0, that a similarity of both sides is computed for; -1 for
// none.
int place_in_order(PlannerInfo *root, JoinedSides *sides) {
  ListCell *cell;
  foreach (cell, root->parse->sortClause) {
    Node *key = get_sortgroupclause_expr(lfirst_node(SortGroupClause, cell), root->processed_tlist);
    if (computes_similarity_of(key, sides)) return foreach_current_index(cell);
  }
  return -1;
}

// Returns the obstacle in the query, beside its order.
Obstacle obstacle_in_query(PlannerInfo *root, RelOptInfo *joinrel, JoinType jointype) {
  const Query *query = root->parse;
  if (!Settings::enable_nearest())
    return {"simjoin.enable_nearest is off", "SET simjoin.enable_nearest = on."};
  if (query->groupClause != NIL || query->groupingSets != NIL || query->distinctClause != NIL ||
      query->hasAggs || query->hasWindowFuncs || query->hasTargetSRFs)
    return {
        "the query groups, numbers or multiplies pairs before it sorts them",
        "For the best row of each row write CROSS JOIN LATERAL (SELECT … ORDER BY similarity DESC NULLS LAST "
        "LIMIT 1). For the best pairs of all, find them in a subquery with ORDER BY similarity and LIMIT."};
  if (query->rowMarks != NIL || query->commandType != CMD_SELECT)
    return {"the query locks or changes rows",
            "Find the pairs first, in WITH pairs AS MATERIALIZED (SELECT …)."};
  if (root->tuple_fraction <= 0)
    return {"all pairs are asked for", "Add a LIMIT, of a constant or a parameter of a cached plan."};
  if (jointype != JOIN_INNER)
    return {"it is an outer join, or one of another kind than an inner join",
            "Find the pairs by an inner join in a subquery with ORDER BY similarity and LIMIT."};
  if (!bms_equal(root->all_baserels, joinrel->relids))
    return {"the pairs are joined with another table before they are sorted",
            "Find the pairs in a subquery with ORDER BY similarity and LIMIT, and join that."};
  if (!repeatable_inputs(root, joinrel))
    return {"a volatile condition, TABLESAMPLE or a subquery may have other rows the next time",
            "Put what changes into WITH … AS MATERIALIZED (SELECT …), and join that."};
  return {};
}

}  // namespace

void note_pairs_obstacle(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                         JoinType jointype, List *restrictlist) {
  Obstacle *noted = &planning_obstacles.nearest_pairs;
  if (noted->why == too_expensive.why || !reports_nested_loops()) return;
  JoinedSides sides = {root, outer->relids, inner->relids};
  const int place = place_in_order(root, &sides);
  if (place < 0) return;
  Obstacle obstacle = obstacle_in_query(root, joinrel, jointype);
  if (obstacle.why == nullptr && place > 0)
    obstacle = {"the similarity is not the first sort key", "Sort by the similarity first."};
  if (obstacle.why == nullptr) obstacle = obstacle_in_order(root, joinrel, outer, inner);
  if (obstacle.why == nullptr && has_join_barrier(root, restrictlist))
    obstacle = {"a condition of a security barrier comes first",
                "Let a role query that row-level security does not hold for."};
  if (obstacle.why == nullptr) obstacle = too_expensive;
  if (noted->why == nullptr || obstacle.why == too_expensive.why) *noted = obstacle;
}

}  // namespace simjoin::pg
