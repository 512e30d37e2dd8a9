// Whether a table still has the rows that it had. Its visibility map tells, and none of its pages is read.
//
// A state is taken only where all pages are all-visible: every snapshot, older ones too, sees every tuple on
// them. Two equal states have the same tuples between them:
// - What adds, changes or removes a tuple of an all-visible page clears the page's bit in the map, before the
//   transaction commits. Snapshots that see the transaction see the clear bit.
// - What sets a bit again moves the LSN of the map's page, since the table is logged. So a page of the map
//   with the same LSN whose bits are all set had them set all the time.
// - COPY FREEZE alone adds tuples without clearing a bit. It does so only in the transaction that made the
//   table or truncated it, where no state is taken.
// - TRUNCATE, CLUSTER and whatever else writes the table anew gives it another file. A file that shrinks
// loses
//   the bits of its last pages.
// - ALTER TABLE that does not write the table anew changes its descriptor at most, which is compared, too.
// PostgreSQL trusts the same bits when it scans an index only. A server in recovery moves no LSN in this
// order. There no state is taken, and none outlives recovery, since a session keeps it.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "access/xlogdefs.h"
#include "storage/block.h"
#include "utils/rel.h"
#include "utils/snapshot.h"
}

namespace simjoin::pg {

struct TableState {
  Oid table, tablespace, file;
  TupleDesc descriptor;
  BlockNumber blocks;
  int map_count;
  XLogRecPtr *maps;  // the LSN of each page of the visibility map
};

// Returns whether states of the table can be taken under the snapshot: it is an ordinary heap whose changes
// are logged, and no transaction of this session is in the way.
bool has_states(Relation table, Snapshot snapshot);

// Takes the table's state, in the current memory context. The snapshot under which rows are read is older.
// Returns false where some page is not all-visible, and where there is no page.
bool take_table_state(Relation table, TableState *state);

bool is_same_state(const TableState &a, const TableState &b);

}  // namespace simjoin::pg
