// The versions of rows that can be similar to a set, in any state: committed, in progress or dead.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "access/table.h"
#include "catalog/pg_class.h"
#include "executor/tuptable.h"
#include "partitioning/partdesc.h"
#include "utils/rel.h"
}

#include "pg/guard/set_index.hpp"

namespace simjoin::pg {

// Takes a version of a row.
struct VersionTaker {
  void *taker;
  void (*take)(void *taker, Relation table, TupleTableSlot *version);
};

template <class Taker>
VersionTaker version_taker(Taker *taker) {
  return {taker, [](void *to, Relation table, TupleTableSlot *version) {
            static_cast<Taker *>(to)->take(table, version);
          }};
}

// Hands over each version of a row that can be similar, from an index on the column if the table has one and
// by reading the table otherwise, in the order of their places. Sets that are not similar may be among them.
// A version is handed over if it, or an entry for it, is there when the call begins and is not dead to all
// until it ends.
void visit_versions(Relation table, AttrNumber column, const SoughtSets &sought, VersionTaker taker);

// Hands over all versions of the table's rows.
void visit_all(Relation table, VersionTaker taker);

// Calls visit(table) for the table, or for each table below a partitioned one.
template <class Visit>
void visit_tables(Relation table, const Visit &visit) {
  if (table->rd_rel->relkind != RELKIND_PARTITIONED_TABLE) return visit(table);
  const PartitionDescData *partitions = RelationGetPartitionDesc(table, true);
  for (int i = 0; i < partitions->nparts; ++i) {
    Relation partition = table_open(partitions->oids[i], AccessShareLock);
    visit_tables(partition, visit);
    table_close(partition, NoLock);
  }
}

// Gives the latest version of the row whose version is at this place, and its place. Returns false where the
// row is gone. What this transaction has done counts.
bool fetch_latest(Relation table, ItemPointer place, TupleTableSlot *version);

}  // namespace simjoin::pg
