#include "pg/join/plan/input_paths.hpp"

extern "C" {
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
}

#include "pg/base/compat_paths.hpp"
#include "pg/join/clause/self_join.hpp"
#include "pg/rows/parallel_rows.hpp"

namespace simjoin::pg {

Path *cheapest_unparameterized(RelOptInfo *rel) {
  Path *path = rel->cheapest_total_path;
  return path != nullptr && PATH_REQ_OUTER(path) == nullptr ? path : nullptr;
}

namespace {

// Returns a path whose output has all of these expressions. It computes those that the given path lacks.
Path *with_columns(PlannerInfo *root, RelOptInfo *rel, Path *path, List *exprs) {
  PathTarget *target = nullptr;
  ListCell *cell;
  foreach (cell, exprs) {
    auto *expr = static_cast<Expr *>(lfirst(cell));
    if (list_member(target == nullptr ? path->pathtarget->exprs : target->exprs, expr)) continue;
    if (target == nullptr) target = copy_pathtarget(path->pathtarget);
    add_column_to_pathtarget(target, expr, 0);
  }
  if (target == nullptr) return path;
  set_pathtarget_cost_width(root, target);
  return reinterpret_cast<Path *>(create_projection_path(root, rel, path, target));
}

// Returns whether the path's output can be widened to any column of its relation.
bool scan_can_give_any_column(Path *path) {
  switch (path->pathtype) {
    case T_SeqScan:
    case T_IndexScan:
    case T_BitmapHeapScan:
      return true;
    default:
      return false;
  }
}

// Returns the set, its weights and the partition keys of one side. Its input has to compute them.
List *input_exprs(const JoinPath *join, bool left) {
  List *exprs = list_make1(left ? join->clause.left : join->clause.right);
  if (join->clause.weighted())
    exprs = lappend(exprs, left ? join->clause.left_weights : join->clause.right_weights);
  ListCell *cell;
  foreach (cell, join->partition_clauses) {
    const PartitionKey key = partition_key(lfirst_node(RestrictInfo, cell), join->outer);
    exprs = lappend(exprs, left ? key.left : key.right);
  }
  return exprs;
}

// Returns the arrays of one side: the set and its weights.
List *input_arrays(const JoinPath *join, bool left) {
  List *arrays = list_make1(left ? join->clause.left : join->clause.right);
  if (!join->clause.weighted()) return arrays;
  return lappend(arrays, left ? join->clause.left_weights : join->clause.right_weights);
}

// Returns whether the path can give the columns.
bool can_give(Path *path, List *columns) {
  return scan_can_give_any_column(path) || list_difference(columns, path->pathtarget->exprs) == NIL;
}

// Returns the cheapest partial path that can give the columns, NULL without one. The cheapest one comes
// first.
Path *partial_path(RelOptInfo *rel, List *columns) {
  ListCell *cell;
  foreach (cell, rel->partial_pathlist) {
    auto *path = static_cast<Path *>(lfirst(cell));
    if (PATH_REQ_OUTER(path) == nullptr && can_give(path, columns)) return path;
  }
  return nullptr;
}

// Returns the cheaper way to read the relation with these columns: the path, or a partial path by parallel
// workers. A join of partitions is itself for workers.
Path *cheapest_input(PlannerInfo *root, RelOptInfo *rel, Path *path, Path *partial, List *columns,
                     List *arrays) {
  path = with_columns(root, rel, path, columns);
  if (partial == nullptr || !rel->consider_parallel || rel->reloptkind == RELOPT_OTHER_MEMBER_REL ||
      rel->reloptkind == RELOPT_OTHER_JOINREL || root->hasPseudoConstantQuals)
    return path;
  partial = with_columns(root, rel, partial, columns);
  if (!partial->parallel_safe || compat::disabled_nodes(partial) > compat::disabled_nodes(path)) return path;
  Path *blocks = gather_blocks(root, rel, partial, arrays);
  return blocks->total_cost < path->total_cost ? blocks : path;
}

// Returns the cheapest path that reads the rows once for both relations, NULL where no path can give the
// columns of both.
Path *path_for_both(RelOptInfo *rel, List *columns) {
  Path *cheapest = cheapest_unparameterized(rel);
  if (cheapest == nullptr || can_give(cheapest, columns)) return cheapest;
  Path *best = nullptr;
  ListCell *cell;
  foreach (cell, rel->pathlist) {
    auto *path = static_cast<Path *>(lfirst(cell));
    if (PATH_REQ_OUTER(path) != nullptr || !scan_can_give_any_column(path)) continue;
    if (best == nullptr || path->total_cost < best->total_cost) best = path;
  }
  return best;
}

}  // namespace

Path *input_for_both(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner, const JoinPath *join) {
  List *columns = as_outer(inner->reltarget->exprs, inner->relid, outer->relid);
  columns = list_concat_unique(columns, input_exprs(join, true));
  Path *path = path_for_both(outer, columns);
  if (path == nullptr) return nullptr;
  return cheapest_input(root, outer, path, partial_path(outer, columns), columns, input_arrays(join, true));
}

Path *input_of_side(PlannerInfo *root, RelOptInfo *rel, const JoinPath *join, bool left) {
  Path *path = cheapest_unparameterized(rel);
  if (path == nullptr) return nullptr;
  return cheapest_input(root, rel, path, partial_path(rel, NIL), input_exprs(join, left),
                        input_arrays(join, left));
}

}  // namespace simjoin::pg
