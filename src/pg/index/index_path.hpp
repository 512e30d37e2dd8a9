// Scans of an index on sets: what the planner is offered.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

#include "core/measure.hpp"

namespace simjoin::pg {

// A column of an index that has one of our operator classes.
struct SetColumn {
  IndexOptInfo *index;
  int number;              // among the index's columns, from 0 on
  Oid op;                  // of the operator class: set ~= query
  Oid query;               // the type of queries
  Oid make;                // the function similarity_query_of_clause(tokens, threshold, measure)
  Oid make_from_settings;  // similarity_query(tokens)
  Oid make_nearest;        // the function similarity_query_nearest(tokens)
};

// Makes the planner consider indexes on sets. Called once, when the module is loaded.
void install_index_hook();

// Returns whether the column of the index is one on sets that the current user may query, and describes it.
bool describe_set_column(IndexOptInfo *index, int number, SetColumn *column);

// Returns a bitmap scan for the rows whose `set`, the column of the index, satisfies the query, an expression
// of the column's query type. `clause` is the clause that the query represents, or NULL. Returns NULL where
// the index does not serve the bounds.
Path *make_index_scan(PlannerInfo *root, RelOptInfo *rel, const SetColumn &column, RestrictInfo *clause,
                      Node *set, Node *query, const Bounds &bounds, Relids outer);

// Returns whether one expression is the column of the index, and the other has no columns of the relation and
// is the same for all its rows. Swaps them if the second one is the column.
bool match_column(PlannerInfo *root, RelOptInfo *rel, const SetColumn &column, Expr **set, Expr **other);

// Returns an expression that makes a query.
Node *make_query(const SetColumn &column, Node *set, Node *threshold, const char *measure);

}  // namespace simjoin::pg
