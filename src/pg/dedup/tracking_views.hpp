// Which dedup views track the changes of a table.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "access/attnum.h"
}

namespace simjoin::pg {

// A dedup view that tracks the changes of a table.
struct TrackingView {
  Oid view;
  Oid changes;
  AttrNumber id;  // the column with the ids, whose base type is id_type
  Oid id_type;
  Oid key_type;  // of the column, where ids are keys; else InvalidOid, and id_type is an integer type
  int16 length;  // of id_type, as in pg_type
  bool by_value;
  TrackingView *next;
};

// Returns whether the relation's owner also owns the table, or may do what its owner may. Views of other
// roles neither see nor block writes to the table, and their definitions are not read. For a relation that
// does not exist it returns false.
bool may_track(Oid relation, Oid table);

// Returns the dedup views that track the changes of the table, allocated in the current memory context.
TrackingView *find_tracking_views(Oid table);

// Returns what find_tracking_views returns, from memory where it is known. The list is a copy: while the
// caller looks at it, the session may learn of a change of a definition, and another trigger may begin.
TrackingView *tracking_views(Oid table);

}  // namespace simjoin::pg
