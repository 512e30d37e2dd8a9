// The relations beside a dedup view, its parts: which ones count, and the record that lets PostgreSQL drop
// them with the view.
//
// The view's definition names them, and anyone can write such a definition. So a relation counts only if the
// owner of the view owns it, it is made as create_dedup_view makes it, and no other view has it. A refresh
// then records it as a dependent of the view, of the kind that members of an extension have: PostgreSQL drops
// it with the view and not alone, and no SQL can make such a record. Of all kinds only that one is not
// followed by pg_dump, which would find a circle, since the view names its parts. So a dump has no record,
// and what is restored gets one with its first refresh, which pg_dump has in the dump.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "storage/lock.h"
#include "utils/relcache.h"
}

#include "pg/dedup/definition.hpp"

namespace simjoin::pg {

// The parts of a view, open. Until they are closed, neither other sessions nor functions that the view's
// query calls can drop or alter them.
struct OpenParts {
  Relation source;
  Relation rows;
  Relation pairs;
  Relation changes;  // these two of a view that tracks changes; of others NULL
  Relation order;
  Relation entities;  // these two of a view with entities; of others NULL
  Relation history;
  Relation verdicts;  // of a view whose groups verdicts bind
  Relation judged;    // of such a view that tracks changes
};

// Opens the parts of a view whose owner refreshes it, and so has locked it. Keeps other refreshes away until
// the transaction ends. Pushes a snapshot that sees what earlier refreshes have stored; that of the statement
// may be older. Errors if a part does not count, or if the transaction has one snapshot for all statements:
// that would miss rows that another refresh has stored since, and changes that are not written down yet.
//
// Locks are taken in this order everywhere: the table that the query reads, the view, its parts.
OpenParts open_parts(const DedupDefinition &definition);

// Pops the snapshot, too.
void close_parts(const OpenParts &parts);

// Opens the table of a view's changes for a session that writes to the tracked table. Returns nullptr where
// the view no longer exists: the session may have waited for one that dropped it. Errors where the table
// does not count. It has keys of the type, or integers where the type is InvalidOid.
Relation open_changes(Oid view, Oid changes, Oid key_type);

// Records the parts that count as those of the view, which the caller has locked: they are dropped with it.
// Says which ones do not.
void record_parts(const DedupDefinition &definition);

// Errors unless the columns of the view itself are those that create_dedup_view gives it.
void check_view(Relation view, const DedupDefinition &definition);

// The same for what the query of the view wants of its function.
void check_result(TupleDesc columns, const DedupDefinition &definition);

// Gives the owner of a relation; false where there is no such relation.
bool find_owner(Oid relation, Oid *owner);

}  // namespace simjoin::pg
