#include "pg/guard/arrival.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "executor/tuptable.h"
#include "nodes/pg_list.h"
#include "replication/logicalworker.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

#include "pg/base/compat_statements.hpp"
#include "pg/guard/versions.hpp"

namespace simjoin::pg {
namespace {

// Returns the partitioned table that is not a partition itself.
Oid top_of(Relation partition) {
  // A partition that is being detached has no ancestors.
  const List *ancestors = get_partition_ancestors(RelationGetRelid(partition));
  return ancestors == NIL ? RelationGetRelid(partition) : llast_oid(ancestors);
}

bool is_within(Oid table, Oid scope) {
  return table == scope || list_member_oid(get_partition_ancestors(table), scope);
}

// Returns whether this transaction has removed the row from its table, to move it or otherwise.
bool removed_here(TupleTableSlot *row) {
  bool copied;
  HeapTuple tuple = ExecFetchSlotHeapTuple(row, false, &copied);
  const HeapTupleHeader header = tuple->t_data;
  const bool removed =
      (header->t_infomask & HEAP_XMAX_INVALID) == 0 && !HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask) &&
      TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(header)) &&
      (HeapTupleHeaderIndicatesMovedPartitions(header) || ItemPointerEquals(&header->t_ctid, &tuple->t_self));
  if (copied) heap_freetuple(tuple);
  return removed;
}

// Looks for a row that this transaction has removed.
struct RemovedRow {
  void take(Relation, TupleTableSlot *version) { found = found || removed_here(version); }
  bool found;
};

// Errors if the transaction has removed a row of a partition: replication moves a row by a deletion and an
// insertion, and no statement says that.
void check_replicated(const Guard &guard, Relation partition) {
  RemovedRow removed = {};
  Relation top = table_open(top_of(partition), AccessShareLock);
  visit_tables(top, [&](Relation table) {
    // Rows of a foreign partition are elsewhere.
    if (table->rd_rel->relkind == RELKIND_RELATION) visit_all(table, version_taker(&removed));
  });
  table_close(top, NoLock);
  if (removed.found)
    raise_unknown(guard.function, "Replication has removed rows in the same transaction.",
                  "Disable the trigger for replicated rows with ALTER TABLE ... ENABLE TRIGGER.");
}

}  // namespace

Arrival arrival_of(const Guard &guard, const TriggerData &data) {
  if (TRIGGER_FIRED_BY_UPDATE(data.tg_event)) return Arrival::stored;
  const Statement &statement = guard.statement;
  if (!statement.known) return Arrival::unknown;
  if (statement.plan == nullptr || !data.tg_relation->rd_rel->relispartition) return Arrival::stored;
  if (const ModifyTableState *node = statement.state) {
    if (!compat::updates_row(node)) return Arrival::stored;
    const ResultRelInfo *from = node->resultRelInfo + node->mt_lastResultIndex;
    return is_within(RelationGetRelid(from->ri_RelationDesc), guard.scope) ? Arrival::moved
                                                                           : Arrival::entered;
  }
  if (statement.plan->operation == CMD_INSERT) return Arrival::stored;
  // Without the state it is known where the row comes from only if all partitions count.
  return statement.plan->operation == CMD_UPDATE && top_of(data.tg_relation) == guard.scope
             ? Arrival::moved
             : Arrival::unknown;
}

void check_was_new(const Guard &guard, const TriggerData &data, MemoryContext context) {
  if (!IsLogicalWorker()) {
    check_at_end(data, guard.function, context);
  } else if (guard.action == GuardAction::skip && data.tg_relation->rd_rel->relispartition) {
    // A wrong mark can be corrected, and new rows are marked far more often than they are left out.
    check_replicated(guard, data.tg_relation);
  }
}

}  // namespace simjoin::pg
