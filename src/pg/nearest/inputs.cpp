#include "pg/nearest/inputs.hpp"

extern "C" {
#include "catalog/pg_class.h"
#include "foreign/fdwapi.h"
#include "optimizer/appendinfo.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
}

#include "pg/nearest/order.hpp"

namespace simjoin::pg {
namespace {

constexpr Obstacle no_obstacle = {nullptr, nullptr};
constexpr Obstacle changing_rows = {
    "the rows that are compared depend on the outer row",
    "Compare them with the outer row in WHERE, beside ORDER BY, and not in the query that makes them."};
constexpr Obstacle own_subquery = {
    "the rows come from a subquery that PostgreSQL runs on its own",
    "Write it as WITH rows AS MATERIALIZED (SELECT …), or make a table of its rows."};

constexpr Obstacle guarded_member = {barrier_comes_first,
                                     "Write the UNION ALL as WITH rows AS MATERIALIZED (SELECT …)."};

bool is_appended(const RangeTblEntry *rte) {
  return rte->inh && (rte->rtekind == RTE_RELATION || rte->rtekind == RTE_SUBQUERY);
}

bool is_foreign(const RangeTblEntry *rte) {
  return rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_FOREIGN_TABLE;
}

// Returns whether the table has its rows in one place, and is read as a whole.
bool is_plain_table(const RangeTblEntry *rte) {
  return rte->rtekind == RTE_RELATION && !rte->inh && rte->tablesample == nullptr && !is_foreign(rte);
}

// Calls visit(member, its AppendRelInfo) for the partitions, the children or the arms of a UNION ALL that the
// planner reads.
template <class Visit>
void for_each_member(PlannerInfo *root, const RelOptInfo *rel, Visit &&visit) {
  ListCell *cell;
  foreach (cell, root->append_rel_list) {
    auto *info = lfirst_node(AppendRelInfo, cell);
    RelOptInfo *member =
        info->parent_relid == rel->relid ? root->simple_rel_array[info->child_relid] : nullptr;
    if (member != nullptr && !IS_DUMMY_REL(member)) visit(member, info);
  }
}

// Returns whether a CTE is computed for each outer row, or changes while it is read.
bool is_changing_cte(PlannerInfo *root, const RangeTblEntry *rte) {
  if (rte->self_reference) return true;
  if (rte->ctelevelsup > 0) return false;
  ListCell *cell;
  foreach (cell, root->parse->cteList) {
    auto *cte = lfirst_node(CommonTableExpr, cell);
    if (strcmp(cte->ctename, rte->ctename) != 0) continue;
    for (int level = 2; level <= static_cast<int>(root->query_level); ++level)
      if (contain_vars_of_level(cte->ctequery, level)) return true;
  }
  return false;
}

// Returns why a relation that is neither a plain table nor has members cannot be read once.
Obstacle obstacle_of_scan(PlannerInfo *root, const RangeTblEntry *rte) {
  Node *made_by = nullptr;  // what its rows are computed from
  switch (rte->rtekind) {
    case RTE_RELATION:
      made_by = reinterpret_cast<Node *>(rte->tablesample);
      break;
    case RTE_FUNCTION:
      made_by = reinterpret_cast<Node *>(rte->functions);
      break;
    case RTE_TABLEFUNC:
      made_by = reinterpret_cast<Node *>(rte->tablefunc);
      break;
    case RTE_VALUES:
      made_by = reinterpret_cast<Node *>(rte->values_lists);
      if (contain_volatile_functions(made_by)) return changing_rows;
      break;
    case RTE_CTE:
      return is_changing_cte(root, rte) ? changing_rows : no_obstacle;
    case RTE_NAMEDTUPLESTORE:
      return no_obstacle;
    default:
      return own_subquery;
  }
  return made_by != nullptr && depends_on_outer(made_by) ? changing_rows : no_obstacle;
}

// Which of the conditions on the relation a path's rows meet.
enum class Met { all, those_of_rows };

// Returns the conditions. The executor evaluates a condition without columns above the scan of the relation,
// but below that of a member.
List *conditions_met(const RelOptInfo *rel, Met met) {
  List *conditions = NIL;
  ListCell *cell;
  foreach (cell, rel->baserestrictinfo) {
    auto *rinfo = lfirst_node(RestrictInfo, cell);
    if (rinfo->pseudoconstant && rel->reloptkind == RELOPT_BASEREL) continue;
    if (met == Met::all || !depends_on_outer(reinterpret_cast<Node *>(rinfo->clause)))
      conditions = lappend(conditions, rinfo);
  }
  return conditions;
}

// Returns the relation as it is with these columns and conditions. Its paths are its own: the planner frees
// paths of the relation when it adds a cheaper one.
RelOptInfo *part_of(PlannerInfo *root, const RelOptInfo *rel, PathTarget *columns, Met met) {
  auto *part = static_cast<RelOptInfo *>(palloc(sizeof(RelOptInfo)));
  *part = *rel;
  part->reltarget = columns;
  part->baserestrictinfo = conditions_met(rel, met);
  cost_qual_eval(&part->baserestrictcost, part->baserestrictinfo, root);
  part->rows = clamp_row_est(rel->tuples *
                             clauselist_selectivity(root, part->baserestrictinfo, 0, JOIN_INNER, nullptr));
  return part;
}

// Returns the cheapest path of these that depends on no other relation.
Path *cheapest_of(List *paths) {
  Path *cheapest = nullptr;
  ListCell *cell;
  foreach (cell, paths) {
    auto *path = static_cast<Path *>(lfirst(cell));
    if (PATH_REQ_OUTER(path) != nullptr) continue;
    if (cheapest == nullptr || path->total_cost < cheapest->total_cost) cheapest = path;
  }
  return cheapest;
}

// Returns a foreign table's path for the part, which its wrapper plans anew.
Path *foreign_path(PlannerInfo *root, RelOptInfo *part, Oid table) {
  part->fdw_private = nullptr;
  part->pathlist = part->partial_pathlist = NIL;
  part->fdwroutine->GetForeignRelSize(root, part, table);
  part->fdwroutine->GetForeignPaths(root, part, table);
  return cheapest_of(part->pathlist);
}

// Returns the scan that the planner has made, of the part alone. The plan of a scan without a node type of
// its own has what its relation says: all but the costs.
Path *scan_of_part(const RelOptInfo *rel, RelOptInfo *part) {
  const Path *scan = cheapest_of(rel->pathlist);
  if (scan != nullptr && IsA(scan, MaterialPath))
    scan = reinterpret_cast<const MaterialPath *>(scan)->subpath;
  if (scan == nullptr || !IsA(scan, Path)) return nullptr;
  auto *copy = makeNode(Path);
  *copy = *scan;
  copy->parent = part;
  copy->pathtarget = part->reltarget;
  copy->rows = part->rows;
  const Cost saved = (rel->baserestrictcost.per_tuple - part->baserestrictcost.per_tuple) * rel->tuples;
  copy->total_cost = Max(copy->total_cost - Max(saved, 0.0), copy->startup_cost);
  return copy;
}

// Returns the target with the columns of a member.
PathTarget *columns_of_member(PlannerInfo *root, PathTarget *columns, AppendRelInfo *info) {
  PathTarget *target = copy_pathtarget(columns);
  target->exprs = reinterpret_cast<List *>(
      adjust_appendrel_attrs(root, reinterpret_cast<Node *>(columns->exprs), 1, &info));
  return target;
}

Path *path_of_part(PlannerInfo *root, RelOptInfo *rel, PathTarget *columns, Met met);

// Adds the paths of the members to the list. Returns false where one has none.
bool add_member_paths(PlannerInfo *root, RelOptInfo *rel, PathTarget *columns, Met met, List **paths) {
  bool complete = true;
  for_each_member(root, rel, [&](RelOptInfo *member, AppendRelInfo *info) {
    PathTarget *target = columns_of_member(root, columns, info);
    if (is_appended(planner_rt_fetch(member->relid, root))) {
      complete = add_member_paths(root, member, target, met, paths) && complete;
      return;
    }
    Path *path = path_of_part(root, member, target, met);
    if (path == nullptr)
      complete = false;
    else
      *paths = lappend(*paths, path);
  });
  return complete;
}

// The conditions of the part prune partitions when the query runs.
Path *append_of_members(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *part, Met met) {
  List *paths = NIL;
  if (!add_member_paths(root, rel, part->reltarget, met, &paths) || paths == NIL) return nullptr;
  return reinterpret_cast<Path *>(create_append_path(root, part, paths, NIL, NIL, nullptr, 0, false, -1));
}

// Returns a path of the rows that meet the conditions, NULL where there is none.
Path *path_of_part(PlannerInfo *root, RelOptInfo *rel, PathTarget *columns, Met met) {
  const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
  RelOptInfo *part = part_of(root, rel, columns, met);
  Path *path = is_appended(rte)      ? append_of_members(root, rel, part, met)
               : is_plain_table(rte) ? create_seqscan_path(root, part, nullptr, 0)
               : is_foreign(rte)     ? foreign_path(root, part, rte->relid)
                                     : scan_of_part(rel, part);
  if (path == nullptr) return nullptr;
  return reinterpret_cast<Path *>(create_projection_path(root, part, path, columns));
}

}  // namespace

Obstacle obstacle_to_reading(PlannerInfo *root, RelOptInfo *rel) {
  const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
  if (is_plain_table(rte)) return no_obstacle;
  if (!is_appended(rte)) return obstacle_of_scan(root, rte);
  Obstacle found = no_obstacle;
  for_each_member(root, rel, [&](RelOptInfo *member, AppendRelInfo *info) {
    if (found.why != nullptr) return;
    const bool changes = depends_on_outer(reinterpret_cast<Node *>(info->translated_vars));
    // Conditions of its own may have subqueries, and the node evaluates only those of the whole.
    const bool guarded = planner_rt_fetch(member->relid, root)->securityQuals != NIL;
    found = guarded ? guarded_member : changes ? changing_rows : obstacle_to_reading(root, member);
  });
  return found;
}

Path *path_of_kept_rows(PlannerInfo *root, RelOptInfo *rel, PathTarget *columns) {
  return path_of_part(root, rel, columns, Met::those_of_rows);
}

Path *path_of_all_rows(PlannerInfo *root, RelOptInfo *rel) {
  return path_of_part(root, rel, rel->reltarget, Met::all);
}

}  // namespace simjoin::pg
