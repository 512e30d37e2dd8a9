// The journal of a merge: a table that lists its parts, and for each table that the merge wrote to a part
// with the rows as they were and as the merge wrote them.
#pragma once

#include "pg/merge/references.hpp"

namespace simjoin::pg {

// A part of a journal.
struct JournalPart {
  Oid relation;  // whose rows it has
  Oid oid;
  const char *name;  // of the part
  int number;        // in the order of the merge
  bool merged;       // the relation is the merged table, and the part has its groups
  int key_count;
  const char **key;  // plain names of columns
  int column_count;
  const char **columns;  // those that the merge changed
};

struct Journal {
  Oid oid;
  const char *name;
  int part_count;
  JournalPart *parts;
};

// Creates an empty journal of this name, or of one that is derived from the table's.
Journal create_journal(const Statements &on, const char *name, const TableShape &table, int most_parts);

// Adds an empty part. The caller fills it, and then calls note_part().
JournalPart *add_part(const Statements &on, Journal *journal, const TableShape &shape, bool merged);

// Names the columns that the merge changes, and notes in the journal what it did.
void note_part(const Statements &on, const Journal &journal, const JournalPart &part, uint64 deleted,
               uint64 updated);

// Returns how many rows of the part have the action.
uint64 count_of(const Statements &on, const JournalPart &part, const JournalColumns &marks,
                const char *action);

// Reads a journal and locks it, its parts in the order of the merge, the merged table's first. Errors where
// it is no journal, or another role owns it. To undo the merge, also where others may write to it, or it was
// undone.
Journal read_journal(const Statements &on, Oid oid, bool undoing);

}  // namespace simjoin::pg
