// What a dedup view is made of, read from the definitions of the view and of the view with its query.
#pragma once

#include "pg/pg.hpp"

extern "C" {
#include "access/attnum.h"
}

namespace simjoin::pg {

// The arguments of dedup_view_groups, which a dedup view's definition calls.
struct DedupDefinition {
  Oid source;
  Oid rows;
  Oid pairs;
  Oid changes;  // these two of a view that tracks changes; of others InvalidOid
  Oid order;
  double threshold;
  const char *measure;
  const char *method;
  const char *keep;
  double max_group_share;

  bool tracked() const { return changes != InvalidOid; }
};

// Returns whether the function is the one of this name in C: what others have the same text is of other
// types.
bool is_function(Oid function, const char *symbol);

// Returns the definition that these arguments of dedup_view_groups are: 8, or 10 where changes are tracked.
DedupDefinition definition_of(const Datum *arguments, int count);

// Gives the definition of the dedup view; false where the relation is none. Needs no lock on it: what is read
// are catalogs.
bool find_definition(Oid view, DedupDefinition *definition);

// The table whose changes are changes of a query.
struct TrackedTable {
  Oid table;
  AttrNumber id;  // the column that is the query's id
  const char
      *obstacle;  // why changes cannot be tracked; nullptr where they can. What is above may be unknown then
};

// Returns what the query of the view `source` reads.
TrackedTable tracked_table(Oid source);

// Returns whether the query says in which order its rows are.
bool has_order(Oid source);

// Calls body(context, view) for every view whose query uses the relation, maybe repeatedly.
void for_views_over(Oid relation, void (*body)(void *context, Oid view), void *context);

}  // namespace simjoin::pg
