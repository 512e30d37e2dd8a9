#include "pg/rows/parallel_rows.hpp"

extern "C" {
#include "catalog/pg_type.h"
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
#include "pg/sets/tokenizers.hpp"

namespace simjoin::pg {

// How texts in the second column become sets.
struct RowSets {
  const char *tokenizer;
  SetMaker *maker;       // NULL before the first row, so that a reader's errors about columns come first
  TupleTableSlot *slot;  // of a row with its set
};

namespace {

constexpr char block_node_name[] = "RowBlocks";

// The cost of a row in a block, in calls of a simple operator: packing it, and the way of its bytes to the
// session.
constexpr double operators_per_row = 1;
constexpr double operators_per_byte = 0.005;

// PostgreSQL numbers the nodes of a statement from 0.
constexpr int node_id_of_blocks = INT_MAX;

// ---- Plan ----

Node *create_block_state(CustomScan *plan);

const CustomScanMethods block_plan_methods = {.CustomName = block_node_name,
                                              .CreateCustomScanState = create_block_state};

// CustomScan.custom_private is a list of the numbers of the columns that are arrays, the estimate of the rows
// of all workers, and, where RowBlocks makes sets of texts, the tokenizer.
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
  TupleTableSlot *block;  // the last one
  RowSets *sets;          // NULL where sets are not made of texts
  bool done;              // all rows have been read
};

BlockState *block_state_of(CustomScanState *node) {
  return reinterpret_cast<BlockState *>(node);
}

BlockColumns columns_of(const CustomScan *plan, PlanState *rows, const RowSets *sets) {
  BlockColumns columns = {sets == nullptr ? ExecGetResultType(rows) : sets->slot->tts_tupleDescriptor, 0, {}};
  ListCell *cell;
  foreach (cell, static_cast<List *>(linitial(plan->custom_private)))
    columns.arrays[columns.array_count++] = static_cast<AttrNumber>(lfirst_int(cell));
  return columns;
}

// Returns how sets are made of the texts in the second column, NULL where they are not.
RowSets *begin_sets(const CustomScan *plan, PlanState *rows, EState *estate) {
  if (list_length(plan->custom_private) < 3) return nullptr;
  TupleDesc columns = CreateTupleDescCopy(ExecGetResultType(rows));
  auto *sets = static_cast<RowSets *>(palloc0(sizeof(RowSets)));
  sets->tokenizer = strVal(lthird(plan->custom_private));
  TupleDescInitEntry(columns, 2, nullptr, array_type_of(token_type_of_tokenizer(sets->tokenizer)), -1, 0);
  sets->slot = ExecInitExtraTupleSlot(estate, columns, &TTSOpsVirtual);
  return sets;
}

// Returns the row with the set of its text, in the current memory context.
TupleTableSlot *with_set(RowSets *sets, TupleTableSlot *row) {
  TupleTableSlot *result = ExecClearTuple(sets->slot);
  if (sets->maker == nullptr) {
    const FormData_pg_attribute *text = TupleDescAttr(row->tts_tupleDescriptor, 1);
    sets->maker = create_set_maker(sets->tokenizer, text->atttypid, text->attcollation, sets->slot->tts_mcxt);
  }
  slot_getallattrs(row);
  for (int i = 0; i < result->tts_tupleDescriptor->natts; ++i) {
    result->tts_values[i] = row->tts_values[i];
    result->tts_isnull[i] = row->tts_isnull[i];
  }
  if (!result->tts_isnull[1]) result->tts_values[1] = make_set(*sets->maker, result->tts_values[1]);
  return ExecStoreVirtualTuple(result);
}

void begin_blocks(CustomScanState *node, EState *estate, int eflags) {
  auto *plan = castNode(CustomScan, node->ss.ps.plan);
  PlanState *rows = ExecInitNode(static_cast<Plan *>(linitial(plan->custom_plans)), estate, eflags);
  node->custom_ps = list_make1(rows);
  BlockState *state = block_state_of(node);
  state->sets = begin_sets(plan, rows, estate);
  init_block_writer(&state->writer, columns_of(plan, rows, state->sets), estate->es_query_cxt);
  state->block =
      ExecInitExtraTupleSlot(estate, node->ss.ss_ScanTupleSlot->tts_tupleDescriptor, &TTSOpsMinimalTuple);
}

// Returns the tuple whose only column is the block, without a copy of it. It is valid as long as the block.
MinimalTuple tuple_of(Datum block) {
  char *data = DatumGetPointer(block);
  auto *tuple = reinterpret_cast<MinimalTuple>(data - room_before_block);
  memset(tuple, 0, room_before_block);
  tuple->t_len = static_cast<uint32>(room_before_block + VARSIZE(data));
  tuple->t_infomask2 = 1;  // columns
  tuple->t_infomask = HEAP_HASVARWIDTH;
  tuple->t_hoff = static_cast<uint8>(room_before_block + MINIMAL_TUPLE_OFFSET);
  return tuple;
}

// Returns the next block, NULL at the end. A worker's queue takes the tuple of its slot as it is, where it
// would make a tuple of a virtual one.
TupleTableSlot *exec_blocks(CustomScanState *node) {
  BlockState *state = block_state_of(node);
  BlockWriter *writer = &state->writer;
  auto *rows = static_cast<PlanState *>(linitial(node->custom_ps));
  ExecClearTuple(state->block);
  if (!fill_block(writer, rows, node->ss.ps.ps_ExprContext->ecxt_per_tuple_memory, &state->done, state->sets))
    return nullptr;
  return ExecStoreMinimalTuple(tuple_of(end_block(writer)), state->block, false);
}

void rescan_blocks(CustomScanState *node) {
  block_state_of(node)->done = false;
  auto *rows = static_cast<PlanState *>(linitial(node->custom_ps));
  if (node->ss.ps.chgParam != nullptr) UpdateChangedParamSet(rows, node->ss.ps.chgParam);
  if (rows->chgParam == nullptr) ExecReScan(rows);
}

const CustomExecMethods block_exec_methods = exec_methods_of({.name = block_node_name,
                                                              .begin = begin_blocks,
                                                              .exec = exec_blocks,
                                                              .end = end_inputs,
                                                              .rescan = rescan_blocks});

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
  path->total_cost = partial->total_cost + cost_of_packing(partial);
  custom->custom_paths = list_make1(partial);
  custom->custom_private = list_make2(arrays, makeFloat(psprintf("%.0f", rel->rows)));
  custom->methods = &block_path_methods;
  return reinterpret_cast<Path *>(create_gather_path(root, rel, path, target, nullptr, &blocks));
}

double cost_of_packing(const Path *rows) {
  return rows->rows * (operators_per_row + operators_per_byte * rows->pathtarget->width) * cpu_operator_cost;
}

// A column of type record has no meaning here either.
Plan *pack_rows(Plan *rows, List *arrays, const char *tokenizer) {
  CustomScan *scan = makeNode(CustomScan);
  Plan *plan = &scan->scan.plan;
  plan->startup_cost = rows->startup_cost;
  plan->total_cost = rows->total_cost;
  plan->plan_rows = clamp_row_est(rows->plan_rows / rows_per_block(rows->plan_width));
  plan->plan_width = rows->plan_width;
  plan->parallel_safe = true;
  plan->plan_node_id = node_id_of_blocks;
  plan->extParam = bms_copy(rows->extParam);
  plan->allParam = bms_copy(rows->allParam);
  Var *column = makeVar(INDEX_VAR, 1, RECORDOID, -1, InvalidOid, 0);
  Const *record = makeNullConst(RECORDOID, -1, InvalidOid);
  plan->targetlist = list_make1(makeTargetEntry(reinterpret_cast<Expr *>(column), 1, nullptr, false));
  scan->custom_scan_tlist = list_make1(makeTargetEntry(reinterpret_cast<Expr *>(record), 1, nullptr, false));
  scan->custom_plans = list_make1(rows);
  scan->custom_private = list_make2(arrays, makeFloat(psprintf("%.0f", rows->plan_rows)));
  if (tokenizer != nullptr)
    scan->custom_private = lappend(scan->custom_private, makeString(pstrdup(tokenizer)));
  scan->methods = &block_plan_methods;
  return plan;
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
  auto *blocks = castNode(CustomScanState, outerPlanState(input));
  *rows = static_cast<PlanState *>(linitial(blocks->custom_ps));
  *columns = columns_of(plan, *rows, block_state_of(blocks)->sets);
  return true;
}

bool fill_block(BlockWriter *writer, PlanState *rows, MemoryContext row_context, bool *done, RowSets *sets) {
  bool empty = true;
  begin_block(writer);
  while (!*done && !block_is_full(writer)) {
    check_interrupts();
    TupleTableSlot *slot = ExecProcNode(rows);
    *done = TupIsNull(slot);
    if (*done) break;
    in_row_context(row_context,
                   [&] { append_to_block(writer, sets == nullptr ? slot : with_set(sets, slot)); });
    empty = false;
  }
  return !empty;
}

void register_block_methods() {
  RegisterCustomScanMethods(&block_plan_methods);
}

}  // namespace simjoin::pg
