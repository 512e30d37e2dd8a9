// The foreign keys to a table, found in the catalog, and the tables that have them.
#pragma once

#include "pg/merge/table_shape.hpp"

namespace simjoin::pg {

struct ForeignKey {
  Oid oid;
  const char *name;
  int column_count;
  int *from;                // places of columns of the referencing table
  int *to;                  // places of columns of the referenced table
  const char **operators;   // referenced column = referencing column
  const char **left_types;  // of the operators
  const char **right_types;
};

// A foreign key of a referencing table to any table. Redirected rows must not reference another row by it.
struct KeptKey {
  const char *name;
  int followed;  // its place among those that are followed, or -1
  int column_count;
  int *columns;
  const char **operators;  // referencing column = referencing column
  const char **types;      // of the operators
};

// A unique index whose rows a redirection can make equal.
struct UniqueIndex {
  int key_count;
  const char **keys;      // columns or expressions of the table
  const char *predicate;  // nullptr where the index has all rows
  bool nulls_equal;
};

struct ReferencingTable {
  TableShape shape;
  int key_count;
  ForeignKey *keys;
  int kept_count;
  KeptKey *kept;
  int index_count;
  UniqueIndex *indexes;  // read where conflicts are resolved
  bool self;             // it is the referenced table

  // Returns whether a foreign key has the column.
  bool redirects(int column) const;
};

struct References {
  int count;
  ReferencingTable *tables;
};

// Who may have tables that a merge writes to although the caller has not named them: their triggers run with
// the caller's rights.
struct TrustedTables {
  Datum named;  // regclass[]
  Oid merged;   // the table that the caller named, whose owner may have others; InvalidOid if there is none
  const char *written;  // a query for the OIDs of the tables that are written to

  // Returns the condition that the relation of this row of pg_class is one of another role.
  const char *distrusts(const char *alias) const;
};

// Finds the tables with foreign keys to the table, which is locked. Errors where a table's owner is neither
// the caller, nor the owner of the table, nor a superuser, and the caller has not named the table. With
// `lock`, locks the tables against writers. `resolve` says that conflicts in unique indexes are resolved.
References find_references(const Statements &on, const TableShape &table, const TrustedTables &trusted,
                           bool lock, bool resolve);

// Errors where the table, or a partition of it, is not to be trusted.
void check_owners(const Statements &on, Oid table, const TrustedTables &trusted);

// Errors where the table has more columns than statements of a merge can name.
void check_width(const Statements &on, const TableShape &shape);

// Errors unless the relation is a table, and of no catalog.
void check_is_table(const Statements &on, Oid table);

// Errors unless the table is one whose rows can be merged, and whose partitions have owners as above. With
// `lock`, locks it against writers first.
void check_merged_table(const Statements &on, Oid table, const TrustedTables &trusted, bool lock);

// Locks a table against writers. Errors where another one has got its name.
void lock_against_writers(const Statements &on, Oid table);

// Errors unless the table still has the name that the statements of the call had: its schema may have got
// another one, which no lock prevents.
void check_name(const Statements &on, Oid table, const char *name);

}  // namespace simjoin::pg
