// What a dedup view is made of, read from the definitions of the view and of the view with its query.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "access/attnum.h"
#include "catalog/pg_type.h"
}

#include "pg/base/arguments.hpp"

namespace simjoin::pg {

// The most arguments that those functions have.
inline constexpr int most_view_arguments = 14;

// A dedup view, and the arguments of dedup_view_groups or dedup_view_groups_of_keys, which its definition
// calls. Definitions of three kinds exist: with tables of entities, and of 0.1.0 with and without tracking.
struct DedupDefinition {
  Oid view;
  Oid source;
  Oid rows;
  Oid pairs;
  Oid changes;  // these two of a view that tracks changes; of others InvalidOid
  Oid order;
  Oid entities;  // these two are InvalidOid in views of 0.1.0
  Oid history;
  Oid verdicts;  // the view with the query for verdicts, InvalidOid where there are none
  Oid judged;    // the verdicts of the last refresh, of a view that also tracks changes
  double threshold;
  const char *measure;
  const char *method;
  const char *keep;
  double max_group_share;
  Oid key_type;  // of the view's ids; InvalidOid where they are integers, shown as bigint

  bool has_keys() const { return key_type != InvalidOid; }
  bool has_weights() const;
  Oid id_type() const { return has_keys() ? key_type : INT8OID; }
  bool has_entities() const { return entities != InvalidOid; }
  bool has_verdicts() const { return verdicts != InvalidOid; }
  bool tracked() const { return changes != InvalidOid; }
};

// Returns the measure of the view. Errors, naming `function`, where no measure that the view can have has the
// name, and where no pair can have the view's threshold.
RowMeasure measure_of(const DedupDefinition &definition, const char *function);

// Returns whether the function is the one of this name in C: what others have the same text is of other
// types.
bool is_function(Oid function, const char *symbol);

// Gives the definition of the dedup view; false where the relation is none: its rows are what the function
// returns, and nothing else. Needs no lock on it: what is read are catalogs.
bool find_definition(Oid view, DedupDefinition *definition);

// Errors: dedup_view_groups was called by something else than a dedup view.
[[noreturn]] void raise_other_caller();

// Returns the definition of the view that is being refreshed in this session, as the current user, and whose
// function has these arguments. Errors where there is none.
DedupDefinition definition_being_refreshed(const Datum *arguments, int count);

// The table that a query reads, and the column that is the query's id.
struct TrackedTable {
  Oid table;      // InvalidOid where the query reads something else; the rest is then unknown
  AttrNumber id;  // 0 where the id is not a column of the table
};

// Returns what the query of the view `source` reads.
TrackedTable tracked_table(Oid source);

// Returns why changes of what the query of the view `source` reads are not all known to triggers; nullptr
// where they are.
const char *obstacle_in(Oid source);

// Returns whether the table has an index by which rows are found by this column.
bool has_index_on(Oid table, AttrNumber column);

// Returns whether the query says in which order its rows are.
bool has_order(Oid source);

// Calls body(context, view) for every view whose query uses the relation, maybe repeatedly.
void for_views_over(Oid relation, void (*body)(void *context, Oid view), void *context);

}  // namespace simjoin::pg
