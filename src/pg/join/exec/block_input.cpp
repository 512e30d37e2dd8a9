#include "pg/join/exec/block_input.hpp"

extern "C" {
#include "access/parallel.h"
#include "executor/executor.h"
#include "utils/memutils.h"
}

#include "pg/base/settings.hpp"
#include "pg/rows/parallel_rows.hpp"

namespace simjoin::pg {
namespace {

// ---- Which inputs can be cached ----

// Gives the table's columns that are the scan's output. Returns false if that has anything else.
bool find_columns(const Plan *scan, TableColumns *columns) {
  columns->columns =
      static_cast<AttrNumber *>(palloc(sizeof(AttrNumber) * (list_length(scan->targetlist) + 1)));
  ListCell *cell;
  foreach (cell, scan->targetlist) {
    Expr *expr = lfirst_node(TargetEntry, cell)->expr;
    if (!IsA(expr, Var) || castNode(Var, expr)->varattno <= 0) return false;
    columns->columns[columns->count++] = castNode(Var, expr)->varattno;
  }
  return true;
}

// Returns whether the node reads every row of a table. Conditions of row-level security are quals, too.
bool reads_all_rows(const PlanState *rows, bool by_workers) {
  return IsA(rows, SeqScanState) && rows->plan->parallel_aware == by_workers && rows->plan->qual == NIL &&
         rows->plan->initPlan == NIL;
}

// Returns whether the planner expects the rows to fit into the cache.
bool fits_cache(const BlockInput *input) {
  const double columns = input->columns.count + input->columns.array_count;
  const double row_bytes = input->rows->plan->plan_width + sizeof(Datum) * (columns + 1);
  return rows_of_input(input->source->plan) * row_bytes <= static_cast<double>(Settings::input_cache());
}

// Finds the table whose rows the input consists of, where they can be cached.
void find_table(BlockInput *input, const BlockColumns &blocks) {
  const bool by_workers = input->source != input->rows;
  if (Settings::input_cache() == 0 || IsParallelWorker() || !reads_all_rows(input->rows, by_workers) ||
      input->estate->es_epq_active != nullptr)
    return;
  if (!find_columns(input->rows->plan, &input->columns)) return;
  input->columns.array_count = blocks.array_count;
  for (int i = 0; i < blocks.array_count; ++i) input->columns.arrays[i] = blocks.arrays[i];
  if (!fits_cache(input)) return;
  Relation table = reinterpret_cast<ScanState *>(input->rows)->ss_currentRelation;
  if (has_states(table, input->estate->es_snapshot)) input->table = table;
}

BlockColumns columns_of_rows(PlanState *rows, List *arrays) {
  BlockColumns columns = {ExecGetResultType(rows), 0, {}};
  ListCell *cell;
  foreach (cell, arrays) columns.arrays[columns.array_count++] = static_cast<AttrNumber>(lfirst_int(cell));
  return columns;
}

// ---- Execution ----

// Looks whether the rows are cached, and otherwise whether they can be recorded.
void begin_execution(BlockInput *input) {
  input->begun = true;
  if (input->table == nullptr || !has_states(input->table, input->estate->es_snapshot)) return;
  MemoryContext old = MemoryContextSwitchTo(input->execution);
  if (take_table_state(input->table, &input->state)) {
    if (!find_cached_rows(&input->cached, input->state, input->columns, input->execution))
      input->record = begin_recording(input->state, input->columns, input->execution);
    input->was_cached |= input->cached.rows != nullptr;
  }
  MemoryContextSwitchTo(old);
}

// Keeps the record of all rows if the table has not changed meanwhile.
void end_recording(BlockInput *input) {
  if (input->record == nullptr) return;
  MemoryContext old = MemoryContextSwitchTo(input->execution);
  TableState now;
  if (take_table_state(input->table, &now) && is_same_state(input->state, now))
    keep_rows(input->record);
  else
    drop_record(input->record);
  input->record = nullptr;
  MemoryContextSwitchTo(old);
}

// Gives the next block from the source. Returns false at the end.
bool next_block_of_source(BlockInput *input, BlockView *block) {
  if (input->writer != nullptr) {
    if (!fill_block(input->writer, input->rows, input->row, &input->done)) return false;
    *block = view_block(end_block(input->writer));
    return true;
  }
  TupleTableSlot *slot = ExecProcNode(input->source);
  if (TupIsNull(slot)) return false;
  bool isnull;
  *block = view_block(slot_getattr(slot, 1, &isnull));
  return true;
}

bool next_block(BlockInput *input, BlockView *block) {
  if (!input->begun) begin_execution(input);
  if (input->cached.rows != nullptr) return next_cached_block(&input->cached, block);
  if (!next_block_of_source(input, block)) {
    end_recording(input);
    return false;
  }
  if (input->record != nullptr && !record_block(input->record, *block)) input->record = nullptr;
  return true;
}

}  // namespace

BlockInput *init_block_input(PlanState *input, EState *estate, List *arrays, MemoryContext execution) {
  auto *result = static_cast<BlockInput *>(palloc0(sizeof(BlockInput)));
  result->source = result->rows = input;
  result->estate = estate;
  result->execution = execution;
  BlockColumns columns;
  const bool by_workers = find_blocks(input, &result->rows, &columns);
  if (!by_workers) columns = columns_of_rows(input, arrays);
  find_table(result, columns);
  if (!by_workers) {
    TableState now;
    if (result->table == nullptr || !take_table_state(result->table, &now)) return nullptr;
    result->writer = static_cast<BlockWriter *>(palloc(sizeof(BlockWriter)));
    init_block_writer(result->writer, columns, estate->es_query_cxt);
    result->row = AllocSetContextCreate(estate->es_query_cxt, "simjoin packed row", ALLOCSET_SMALL_SIZES);
  }
  init_block_reader(&result->reader, columns,
                    ExecInitExtraTupleSlot(estate, block_row_descriptor(columns), &TTSOpsVirtual));
  return result;
}

TupleTableSlot *next_block_row(BlockInput *input) {
  if (read_block_row(&input->reader)) return input->reader.slot;
  BlockView block;
  if (!next_block(input, &block)) return nullptr;
  open_block(&input->reader, block);
  read_block_row(&input->reader);
  return input->reader.slot;
}

void end_block_input(BlockInput *input) {
  forget_block(&input->reader);
  input->begun = input->done = false;
  input->record = nullptr;
  input->cached = {};
}

}  // namespace simjoin::pg
