#include "pg/query/query_workers.hpp"

extern "C" {
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "utils/lsyscache.h"
}

#include "pg/rows/parallel_rows.hpp"
#include "pg/sets/tokenizers.hpp"

namespace simjoin::pg {
namespace {

// The cost of making a set of a text, in calls of a simple operator, as of the function shingles.
constexpr double operators_per_text = 1000;

create_upper_paths_hook_type next_paths_hook = nullptr;
planner_hook_type next_planner_hook = nullptr;
const BlockQuery *next_query = nullptr;     // that is planned for blocks
const BlockQuery *planned_query = nullptr;  // the one of the planner that runs

// ---- Plan ----

// Returns whether the rows of a plan's scans and joins are those of the query, as they come.
bool returns_rows_as_they_come(const PlannerInfo *root) {
  const Query *query = root->parse;
  return query->commandType == CMD_SELECT && query->setOperations == nullptr && query->groupClause == NIL &&
         query->groupingSets == NIL && query->distinctClause == NIL && query->sortClause == NIL &&
         query->rowMarks == NIL && query->limitOffset == nullptr && query->limitCount == nullptr &&
         !query->hasAggs && !query->hasWindowFuncs && !query->hasTargetSRFs && query->havingQual == nullptr;
}

// Adds a Gather at the cost of blocks. It is a plan of the query like any other, whoever executes it.
void add_block_path(PlannerInfo *root, RelOptInfo *rows, RelOptInfo *result) {
  auto *partial = static_cast<Path *>(linitial(rows->partial_pathlist));
  PathTarget *target = root->upper_targets[UPPERREL_FINAL];
  if (!equal(partial->pathtarget->exprs, target->exprs)) return;
  double blocks = clamp_row_est(rows->rows / rows_per_block(target->width));
  GatherPath *gather = create_gather_path(root, result, partial, target, nullptr, &blocks);
  Path *path = &gather->path;
  path->rows = rows->rows;
  path->total_cost += cost_of_packing(partial);
  // The session makes the sets of a plan without blocks, which no plan's cost contains.
  if (planned_query->tokenizer != nullptr)
    path->total_cost -= (rows->rows - partial->rows) * operators_per_text * cpu_operator_cost;
  path->total_cost = Max(path->total_cost, path->startup_cost);
  add_path(result, path);
}

void add_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
               void *extra) {
  if (next_paths_hook != nullptr) next_paths_hook(root, stage, input, output, extra);
  if (planned_query != nullptr && stage == UPPERREL_FINAL && root->query_level == 1 &&
      output->consider_parallel && input->partial_pathlist != NIL && returns_rows_as_they_come(root))
    add_block_path(root, input, output);
}

// Plans a statement. Those that functions run while it is planned are others.
PlannedStmt *plan_one(Query *query, const char *text, int options, ParamListInfo parameters) {
  const planner_hook_type plan = next_planner_hook != nullptr ? next_planner_hook : standard_planner;
  if (next_query == nullptr && planned_query == nullptr) return plan(query, text, options, parameters);
  const BlockQuery *before = planned_query;
  PlannedStmt *volatile statement = nullptr;
  planned_query = next_query;
  next_query = nullptr;
  PG_TRY();
  { statement = plan(query, text, options, parameters); }
  PG_FINALLY();
  { planned_query = before; }
  PG_END_TRY();
  return statement;
}

// ---- Execution ----

bool is_column_below(const TargetEntry *entry) {
  if (entry->resjunk || !IsA(entry->expr, Var)) return false;
  const Var *column = castNode(Var, entry->expr);
  return column->varno == OUTER_VAR && column->varattno == entry->resno;
}

// Returns the Gather that returns all columns of the plan below as they are, NULL where there is none.
Gather *plain_gather(Plan *plan) {
  if (!IsA(plan, Gather) || castNode(Gather, plan)->invisible || plan->qual != NIL ||
      list_length(plan->targetlist) != list_length(outerPlan(plan)->targetlist))
    return nullptr;
  ListCell *cell;
  foreach (cell, plan->targetlist)
    if (!is_column_below(lfirst_node(TargetEntry, cell))) return nullptr;
  return castNode(Gather, plan);
}

// Finds the columns of the rows that RowBlocks detoasts.
void find_arrays(QueryBlocks *blocks) {
  const TupleDesc columns = blocks->columns;
  for (int i = 0; i < columns->natts && blocks->array_count < BlockColumns::most_arrays; ++i)
    if (OidIsValid(get_element_type(getBaseType(TupleDescAttr(columns, i)->atttypid))) ||
        (i == 1 && blocks->has_sets))
      blocks->arrays[blocks->array_count++] = i;
}

}  // namespace

void plan_for_blocks(const BlockQuery *query) {
  next_query = query;
}

bool pack_plan(QueryDesc *query, const BlockQuery &how, QueryBlocks *blocks) {
  Gather *gather = plain_gather(query->plannedstmt->planTree);
  if (gather == nullptr) return false;
  blocks->columns = ExecCleanTypeFromTL(gather->plan.targetlist);
  blocks->has_sets = how.tokenizer != nullptr && blocks->columns->natts == 2 &&
                     is_text_type(TupleDescAttr(blocks->columns, 1)->atttypid);
  find_arrays(blocks);
  List *arrays = NIL;
  for (int i = 0; i < blocks->array_count; ++i) arrays = lappend_int(arrays, blocks->arrays[i] + 1);

  // A plan may be kept and executed again.
  Gather *packed = makeNode(Gather);
  *packed = *gather;
  packed->plan.lefttree = pack_rows(outerPlan(gather), arrays, blocks->has_sets ? how.tokenizer : nullptr);
  Var *column = makeVar(OUTER_VAR, 1, RECORDOID, -1, InvalidOid, 0);
  packed->plan.targetlist = list_make1(makeTargetEntry(reinterpret_cast<Expr *>(column), 1, nullptr, false));
  PlannedStmt *statement = makeNode(PlannedStmt);
  *statement = *query->plannedstmt;
  statement->planTree = &packed->plan;
  query->plannedstmt = statement;
  return true;
}

void open_blocks(QueryDesc *query, QueryBlocks *blocks) {
  PlanState *rows;
  BlockColumns columns;
  if (!find_blocks(query->planstate, &rows, &columns)) elog(ERROR, "a plan has lost its RowBlocks");
  TupleDesc descriptor = block_row_descriptor(columns);
  init_block_reader(&blocks->reader, columns,
                    ExecInitExtraTupleSlot(query->estate, descriptor, &TTSOpsVirtual));
}

bool next_row_of_block(QueryBlocks *blocks) {
  TupleTableSlot *slot = blocks->reader.slot;
  if (!read_block_row(&blocks->reader)) return false;
  for (int i = 0; i < blocks->array_count; ++i) {
    const int detoasted = blocks->columns->natts + i;
    slot->tts_values[blocks->arrays[i]] = slot->tts_values[detoasted];
  }
  return true;
}

void install_block_paths() {
  next_paths_hook = create_upper_paths_hook;
  create_upper_paths_hook = add_paths;
  next_planner_hook = planner_hook;
  planner_hook = plan_one;
}

}  // namespace simjoin::pg
