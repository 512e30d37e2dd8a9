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
  AttrNumber id;  // the column with the ids, and its base type
  Oid id_type;
  TrackingView *next;
};

// Returns whether the relation's owner owns the table, too, or may do what its owner may: nobody else's views
// see or hinder what is written to it, nor are their definitions read. A relation that is gone may not.
bool may_track(Oid relation, Oid table);

// Returns the dedup views that track the changes of the table, allocated in the current memory context.
TrackingView *find_tracking_views(Oid table);

// The same as find_tracking_views, remembered. It is a copy that is returned: while it is looked at, a change
// of a definition may be learnt of, and another trigger may begin.
TrackingView *tracking_views(Oid table);

}  // namespace simjoin::pg
