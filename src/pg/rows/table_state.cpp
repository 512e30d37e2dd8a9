#include "pg/rows/table_state.hpp"

extern "C" {
#include "access/transam.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "storage/bufmgr.h"
#include "utils/snapmgr.h"
}

#include "pg/base/compat_tables.hpp"
#include "pg/base/interrupts.hpp"

namespace simjoin::pg {
namespace {

// The map has two bits a page of the table.
constexpr BlockNumber least_per_map = BLCKSZ * 2;

constexpr BlockNumber between_interrupts = BlockNumber{1} << 16;

// Notes the LSN of a page of the map whose bits have been read. Whoever set one of them held the lock until
// the LSN was written.
void note_map(TableState *state, ::Buffer map) {
  if (!BufferIsValid(map)) return;
  LockBuffer(map, BUFFER_LOCK_SHARE);
  state->maps[state->map_count++] = PageGetLSN(BufferGetPage(map));
  LockBuffer(map, BUFFER_LOCK_UNLOCK);
}

// Notes all pages of the map. Returns false at a page of the table that is not all-visible.
bool note_maps(Relation table, TableState *state, ::Buffer *map) {
  for (BlockNumber block = 0; block < state->blocks; ++block) {
    if (block % between_interrupts == 0) check_interrupts();
    if (BufferIsValid(*map) && !visibilitymap_pin_ok(block, *map)) note_map(state, *map);
    if (!VM_ALL_VISIBLE(table, block, map)) return false;
  }
  note_map(state, *map);
  return true;
}

}  // namespace

bool has_states(Relation table, Snapshot snapshot) {
  const char kind = table->rd_rel->relkind;
  return (kind == RELKIND_RELATION || kind == RELKIND_MATVIEW) && table->rd_rel->relam == HEAP_TABLE_AM_OID &&
         table->rd_id >= FirstNormalObjectId && RelationNeedsWAL(table) &&
         !compat::made_in_transaction(table) && !compat::snapshots_may_be_too_old() &&
         IsMVCCSnapshot(snapshot) && !snapshot->takenDuringRecovery && !RecoveryInProgress() &&
         !IsolationIsSerializable();
}

bool take_table_state(Relation table, TableState *state) {
  state->table = table->rd_id;
  state->tablespace = table->rd_rel->reltablespace;
  state->file = table->rd_rel->relfilenode;
  state->descriptor = RelationGetDescr(table);
  state->blocks = RelationGetNumberOfBlocks(table);
  state->map_count = 0;
  if (state->blocks == 0) return false;
  state->maps = static_cast<XLogRecPtr *>(palloc(sizeof(XLogRecPtr) * (state->blocks / least_per_map + 1)));
  ::Buffer map = InvalidBuffer;
  const bool result = note_maps(table, state, &map);
  if (BufferIsValid(map)) ReleaseBuffer(map);
  return result;
}

bool is_same_state(const TableState &a, const TableState &b) {
  return a.table == b.table && a.tablespace == b.tablespace && a.file == b.file && a.blocks == b.blocks &&
         a.map_count == b.map_count && memcmp(a.maps, b.maps, sizeof(XLogRecPtr) * a.map_count) == 0 &&
         equalTupleDescs(a.descriptor, b.descriptor);
}

}  // namespace simjoin::pg
