#include "pg/query/table_writer.hpp"

extern "C" {
#include "access/genam.h"
#include "access/heapam.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "executor/executor.h"
#include "utils/rel.h"
}

#include <algorithm>

#include "pg/base/compat.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/base/interrupts.hpp"

namespace simjoin::pg {

namespace {
constexpr int rows_at_once = 256;  // rows that are written under one lock of a page and logged together
}

struct TableWriter {
  MemoryContext context;
  Relation relation;
  EState *state;
  ResultRelInfo *target;
  BulkInsertState bulk;  // used once there are many rows: it keeps a page at hand
  TupleTableSlot *slots[rows_at_once];
  int made;    // slots allocated
  int filled;  // slots that hold rows to be written
};

namespace {

bool is_gin(Relation index) {
  return index->rd_rel->relam == GIN_AM_OID;
}

// Closes the GIN indexes among the open ones.
void leave_out_gin(ResultRelInfo *target) {
  int kept = 0;
  for (int i = 0; i < target->ri_NumIndices; ++i) {
    if (is_gin(target->ri_IndexRelationDescs[i])) {
      index_close(target->ri_IndexRelationDescs[i], RowExclusiveLock);
      continue;
    }
    target->ri_IndexRelationDescs[kept] = target->ri_IndexRelationDescs[i];
    target->ri_IndexRelationInfo[kept++] = target->ri_IndexRelationInfo[i];
  }
  target->ri_NumIndices = kept;
}

void flush(TableWriter *writer) {
  if (writer->filled == 0) return;
  MemoryContext old = MemoryContextSwitchTo(writer->context);
  if (writer->filled == rows_at_once && writer->bulk == nullptr) writer->bulk = GetBulkInsertState();
  MemoryContextSwitchTo(GetPerTupleMemoryContext(writer->state));
  table_multi_insert(writer->relation, writer->slots, writer->filled, GetCurrentCommandId(true), 0,
                     writer->bulk);
  MemoryContextSwitchTo(old);
  for (int i = 0; i < writer->filled; ++i) {
    ResetPerTupleExprContext(writer->state);
    if (writer->target->ri_NumIndices > 0)
      compat::insert_index_entries(writer->target, writer->slots[i], writer->state);
    ExecClearTuple(writer->slots[i]);
  }
  writer->filled = 0;
  check_interrupts();
}

}  // namespace

TableWriter *open_writer(Relation relation, Indexes indexes) {
  auto *writer = static_cast<TableWriter *>(palloc0(sizeof(TableWriter)));
  writer->context = CurrentMemoryContext;
  writer->relation = relation;
  writer->state = CreateExecutorState();
  writer->target = makeNode(ResultRelInfo);
  InitResultRelInfo(writer->target, relation, 1, nullptr, 0);
  ExecOpenIndices(writer->target, false);
  if (indexes == Indexes::all_but_gin) leave_out_gin(writer->target);
  return writer;
}

void write_row(TableWriter *writer, const Datum *values, const bool *nulls) {
  if (writer->filled == rows_at_once) flush(writer);
  TupleTableSlot **slot = &writer->slots[writer->filled];
  if (writer->filled == writer->made) {
    MemoryContext old = MemoryContextSwitchTo(writer->context);
    *slot = table_slot_create(writer->relation, nullptr);
    MemoryContextSwitchTo(old);
    ++writer->made;
  }
  const int columns = RelationGetDescr(writer->relation)->natts;
  for (int i = 0; i < columns; ++i)
    if (nulls[i] && TupleDescAttr(RelationGetDescr(writer->relation), i)->attnotnull)
      ereport(ERROR,
              (errcode(ERRCODE_NOT_NULL_VIOLATION), errmsg("%s, a part of a dedup view, does not take NULL",
                                                           RelationGetRelationName(writer->relation))));
  std::copy_n(values, columns, (*slot)->tts_values);
  std::copy_n(nulls, columns, (*slot)->tts_isnull);
  ExecStoreVirtualTuple(*slot);
  ExecMaterializeSlot(*slot);
  ++writer->filled;
}

bool erase_row(TableWriter *writer, ItemPointer row, Snapshot snapshot) {
  check_interrupts();
  constexpr bool wait = true, changes_partition = false;
  TM_FailureData failure;
  return table_tuple_delete(writer->relation, row, GetCurrentCommandId(true), snapshot, InvalidSnapshot, wait,
                            &failure, changes_partition) == TM_Ok;
}

void close_writer(TableWriter *writer) {
  flush(writer);
  for (int i = 0; i < writer->made; ++i) ExecDropSingleTupleTableSlot(writer->slots[i]);
  if (writer->bulk != nullptr) FreeBulkInsertState(writer->bulk);
  ExecCloseIndices(writer->target);
  FreeExecutorState(writer->state);
  pfree(writer);
  CommandCounterIncrement();
}

void rebuild_left_out(Relation relation) {
  CommandCounterIncrement();
  List *indexes = RelationGetIndexList(relation);
  ListCell *cell;
  foreach (cell, indexes) {
    Relation index = index_open(lfirst_oid(cell), AccessShareLock);
    const bool left_out = is_gin(index);
    index_close(index, NoLock);
    if (left_out) compat::rebuild_index(lfirst_oid(cell), relation->rd_rel->relpersistence);
  }
}

}  // namespace simjoin::pg
