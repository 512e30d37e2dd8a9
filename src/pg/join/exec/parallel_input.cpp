#include "pg/join/exec/parallel_input.hpp"

extern "C" {
#include "executor/executor.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "utils/memutils.h"
}

#include "pg/base/compat.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/scan_nodes.hpp"
#include "pg/rows/row_context.hpp"

namespace simjoin::pg {
namespace {

constexpr char block_node_name[] = "RowBlocks";

// The cost of a row in a block, in calls of a simple operator: packing it, and the way of its bytes to the
// session.
constexpr double operators_per_row = 1;
constexpr double operators_per_byte = 0.005;

// ---- Plan ----

Node *create_block_state(CustomScan *plan);

const CustomScanMethods block_plan_methods = {.CustomName = block_node_name,
                                              .CreateCustomScanState = create_block_state};

// CustomScan.custom_private is a list of two: the numbers of the columns that are arrays, and the estimate of
// the rows of all workers.
Plan *plan_blocks(PlannerInfo *, RelOptInfo *, CustomPath *path, List *tlist, List *, List *custom_plans) {
  auto *rows = static_cast<Plan *>(linitial(custom_plans));
  List *columns = NIL;
  ListCell *cell;
  foreach (cell, static_cast<List *>(linitial(path->custom_private))) {
    const AttrNumber column = column_of(rows->targetlist, static_cast<Node *>(lfirst(cell)));
    if (column == InvalidAttrNumber)
      elog(ERROR, "similarity join: set not found in the output of its parallel input");
    columns = list_append_unique_int(columns, column);
  }
  CustomScan *scan = makeNode(CustomScan);
  scan->scan.plan.targetlist = tlist;
  scan->custom_scan_tlist = static_cast<List *>(copyObjectImpl(tlist));
  scan->custom_plans = custom_plans;
  scan->custom_private = list_make2(columns, lsecond(path->custom_private));
  scan->methods = &block_plan_methods;
  return &scan->scan.plan;
}

const CustomPathMethods block_path_methods = {
    .CustomName = block_node_name, .PlanCustomPath = plan_blocks, .ReparameterizeCustomPathByChild = nullptr};

// Returns the plan of RowBlocks that is the input's source, NULL without one.
CustomScan *plan_of_blocks(Plan *input) {
  if (!IsA(input, Gather) || !IsA(outerPlan(input), CustomScan)) return nullptr;
  auto *blocks = castNode(CustomScan, outerPlan(input));
  return blocks->methods == &block_plan_methods ? blocks : nullptr;
}

// ---- Execution ----

struct BlockState {
  CustomScanState css;
  BlockWriter writer;
  bool done;  // all rows have been read
};

BlockState *block_state_of(CustomScanState *node) {
  return reinterpret_cast<BlockState *>(node);
}

BlockColumns columns_of(const CustomScan *plan, PlanState *rows) {
  BlockColumns columns = {ExecGetResultType(rows), 0, {}};
  ListCell *cell;
  foreach (cell, static_cast<List *>(linitial(plan->custom_private)))
    columns.arrays[columns.array_count++] = static_cast<AttrNumber>(lfirst_int(cell));
  return columns;
}

void begin_blocks(CustomScanState *node, EState *estate, int eflags) {
  auto *plan = castNode(CustomScan, node->ss.ps.plan);
  PlanState *rows = ExecInitNode(static_cast<Plan *>(linitial(plan->custom_plans)), estate, eflags);
  node->custom_ps = list_make1(rows);
  init_block_writer(&block_state_of(node)->writer, columns_of(plan, rows), estate->es_query_cxt);
}

// Returns the next block in the node's slot, an empty one at the end.
TupleTableSlot *exec_blocks(CustomScanState *node) {
  BlockState *state = block_state_of(node);
  BlockWriter *writer = &state->writer;
  auto *rows = static_cast<PlanState *>(linitial(node->custom_ps));
  TupleTableSlot *result = ExecClearTuple(node->ss.ss_ScanTupleSlot);
  if (!fill_block(writer, rows, node->ss.ps.ps_ExprContext->ecxt_per_tuple_memory, &state->done))
    return nullptr;
  result->tts_values[0] = end_block(writer);
  result->tts_isnull[0] = false;
  return ExecStoreVirtualTuple(result);
}

void rescan_blocks(CustomScanState *node) {
  block_state_of(node)->done = false;
  auto *rows = static_cast<PlanState *>(linitial(node->custom_ps));
  if (node->ss.ps.chgParam != nullptr) UpdateChangedParamSet(rows, node->ss.ps.chgParam);
  if (rows->chgParam == nullptr) ExecReScan(rows);
}

const CustomExecMethods block_exec_methods = {.CustomName = block_node_name,
                                              .BeginCustomScan = begin_blocks,
                                              .ExecCustomScan = exec_blocks,
                                              .EndCustomScan = end_inputs,
                                              .ReScanCustomScan = rescan_blocks,
                                              .MarkPosCustomScan = nullptr,
                                              .RestrPosCustomScan = nullptr,
                                              .EstimateDSMCustomScan = nullptr,
                                              .InitializeDSMCustomScan = nullptr,
                                              .ReInitializeDSMCustomScan = nullptr,
                                              .InitializeWorkerCustomScan = nullptr,
                                              .ShutdownCustomScan = nullptr,
                                              .ExplainCustomScan = nullptr};

Node *create_block_state(CustomScan *) {
  return make_node_state<BlockState>(&block_exec_methods);
}

}  // namespace

// The column is a row of the expressions, so that EXPLAIN shows what a block has.
Path *gather_blocks(PlannerInfo *root, RelOptInfo *rel, Path *partial, List *arrays) {
  RowExpr *column = makeNode(RowExpr);
  column->args = static_cast<List *>(copyObjectImpl(partial->pathtarget->exprs));
  column->row_typeid = RECORDOID;
  column->row_format = COERCE_EXPLICIT_CALL;
  column->location = -1;
  PathTarget *target = create_empty_pathtarget();
  add_column_to_pathtarget(target, reinterpret_cast<Expr *>(column), 0);

  const double row_bytes = partial->pathtarget->width;
  double blocks = clamp_row_est(rel->rows / rows_per_block(row_bytes));
  CustomPath *custom = makeNode(CustomPath);
  Path *path = &custom->path;
  path->pathtype = T_CustomScan;
  path->parent = rel;
  path->pathtarget = target;
  path->parallel_safe = true;
  path->parallel_workers = partial->parallel_workers;
  path->rows = clamp_row_est(partial->rows / rows_per_block(row_bytes));
  path->startup_cost = partial->startup_cost;
  path->total_cost = partial->total_cost +
                     partial->rows * (operators_per_row + operators_per_byte * row_bytes) * cpu_operator_cost;
  custom->custom_paths = list_make1(partial);
  custom->custom_private = list_make2(arrays, makeFloat(psprintf("%.0f", rel->rows)));
  custom->methods = &block_path_methods;
  return reinterpret_cast<Path *>(create_gather_path(root, rel, path, target, nullptr, &blocks));
}

AttrNumber column_of(List *tlist, Node *expr) {
  ListCell *cell;
  Node *plain = compat::without_nulling(expr);
  foreach (cell, tlist) {
    auto *entry = lfirst_node(TargetEntry, cell);
    if (equal(compat::without_nulling(reinterpret_cast<Node *>(entry->expr)), plain)) return entry->resno;
  }
  return InvalidAttrNumber;
}

Plan *plan_of_rows(Plan *input) {
  CustomScan *blocks = plan_of_blocks(input);
  return blocks == nullptr ? input : static_cast<Plan *>(linitial(blocks->custom_plans));
}

double rows_of_input(Plan *input) {
  CustomScan *blocks = plan_of_blocks(input);
  return blocks == nullptr ? input->plan_rows : floatVal(lsecond(blocks->custom_private));
}

bool find_blocks(PlanState *input, PlanState **rows, BlockColumns *columns) {
  CustomScan *plan = plan_of_blocks(input->plan);
  if (plan == nullptr) return false;
  *rows = static_cast<PlanState *>(linitial(castNode(CustomScanState, outerPlanState(input))->custom_ps));
  *columns = columns_of(plan, *rows);
  return true;
}

bool fill_block(BlockWriter *writer, PlanState *rows, MemoryContext row_context, bool *done) {
  bool empty = true;
  begin_block(writer);
  while (!*done && !block_is_full(writer)) {
    check_interrupts();
    TupleTableSlot *slot = ExecProcNode(rows);
    *done = TupIsNull(slot);
    if (*done) break;
    in_row_context(row_context, [&] { append_to_block(writer, slot); });
    empty = false;
  }
  return !empty;
}

void register_block_methods() {
  RegisterCustomScanMethods(&block_plan_methods);
}

}  // namespace simjoin::pg
