// Differences between the supported versions of PostgreSQL, 14 to 18, in the descriptions of tables.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

namespace simjoin::pg::compat {

// Returns whether this transaction made the table, or gave it new pages as TRUNCATE does. PostgreSQL 16
// (b0a55e43299) named the field anew.
inline bool made_in_transaction(Relation table) {
#if PG_VERSION_NUM >= 160000
  const SubTransactionId filled = table->rd_firstRelfilelocatorSubid;
#else
  const SubTransactionId filled = table->rd_firstRelfilenodeSubid;
#endif
  return table->rd_createSubid != InvalidSubTransactionId || filled != InvalidSubTransactionId;
}

// Returns whether VACUUM may remove rows that a running snapshot still sees (old_snapshot_threshold).
// PostgreSQL 17 (f691f5b80a8) has no such setting any more.
inline bool snapshots_may_be_too_old() {
#if PG_VERSION_NUM >= 170000
  return false;
#else
  return OldSnapshotThresholdActive();
#endif
}

// Whether an UPDATE that moves a row to another partition fires ON DELETE actions of foreign keys to the row.
// Since PostgreSQL 15 (ba9a7e39217) it fires their ON UPDATE actions.
inline constexpr bool moves_fire_delete_actions = PG_VERSION_NUM < 150000;

// Returns the role as which a query reads a table, InvalidOid for the current user. PostgreSQL 16
// (a61b1f74823) moved it off the entry of the range table.
inline Oid reader_of(PlannerInfo *root, Index relid) {
#if PG_VERSION_NUM >= 160000
  return find_base_rel(root, static_cast<int>(relid))->userid;
#else
  return planner_rt_fetch(relid, root)->checkAsUser;
#endif
}

}  // namespace simjoin::pg::compat
