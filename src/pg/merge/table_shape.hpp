// A table that takes part in a merge: its columns and its key, as texts for statements.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "access/attnum.h"
}

#include "pg/merge/sql_text.hpp"

namespace simjoin::pg {

struct TableColumn {
  const char *name;  // quoted
  const char *plain_name;
  AttrNumber number;
  Oid type;
  int32 modifier;
  const char *type_name;  // without a modifier, so that a cast to it shortens nothing
  Oid base_type;          // that of a domain
  int32 base_modifier;
  const char *base_name;      // with its modifier
  const char *compared_name;  // without a modifier: the type that operators of indexes and foreign keys take
  Oid collation;
  const char *collate;  // " COLLATE name", or "" where the type has no collations
  bool generated;       // stored or virtual
  bool identity;        // GENERATED ALWAYS AS IDENTITY
  bool may_be_null;
  bool array;              // of a true array type, or a domain over one
  const char *expression;  // of a generated column
};

// The names of the columns that a journal has before those of the table, quoted.
struct JournalColumns {
  const char *entry;   // rows of one number belong together
  const char *action;  // 'before', 'after' or 'deleted'
  const char *table;   // the partition and the place of the row during the merge
  const char *row;
  const char *prefix;  // begins the name of no column of the table
};

struct TableShape {
  Oid oid;
  const char *name;        // qualified and quoted
  const char *plain_name;  // quoted
  bool partitioned;
  int column_count;
  TableColumn *columns;
  int key_count;  // 0 where no unique index identifies the rows
  int *key;       // places of columns
  const char **key_operators;
  JournalColumns journal;

  // "ONLY name" or, of a partitioned table, "name".
  const char *only() const { return partitioned ? name : psprintf("ONLY %s", name); }

  // Returns the place of the column, -1 where the table has none of this name or number.
  int find(const char *plain_name) const;
  int find(AttrNumber number) const;
  bool is_key(int column) const;

  // "l.c1, l.c2" of all columns, and of the key.
  const char *all(const char *alias) const;
  const char *key_list(const char *alias) const;
  // The value of a column without its domain, which can be NULL in any row of a journal.
  const char *base_value(int column, const char *alias) const;
  // The value of a key column, for the operator of its index.
  const char *key_value(int place, const char *alias) const;
  // "l.k1 = r.k1 AND l.k2 = r.k2"
  const char *same_key(const char *left, const char *right) const;
  // An expression that shows a row's key in messages.
  const char *shown_key(const char *alias) const;
};

// The plain names of columns that are to be the key, in any order.
struct KeyNames {
  int count = 0;
  const char *const *names = nullptr;
};

// Describes a table, and keeps it from being altered until the transaction ends. The key is the primary key,
// or else the first unique index that identifies each row. With names of columns it is an index of these.
TableShape describe_table(const Statements &on, Oid table, const KeyNames &key = {});

// Returns the name of a type for statements with any search path.
const char *qualified_type(Oid type, int32 modifier = -1);

// Returns the place of the column with this number. Errors where the table has none any more.
int place_of(const Statements &on, const TableShape &shape, int64 number);

// Errors where a statement has not written all rows of the table that it was to write.
void check_written(const Statements &on, uint64 written, uint64 expected, const TableShape &shape);

// Errors unless statements of a merge see all rows of the table, and write to them and no others: row-level
// security would hide rows, rules would change the statements.
void check_plain_table(const Statements &on, Oid table);

}  // namespace simjoin::pg
