// The statement that fires a trigger. PostgreSQL does not pass it, and some rows of BEFORE INSERT are not
// new: an UPDATE inserts what it moves to another partition, and ON CONFLICT updates instead.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "commands/trigger.h"
#include "nodes/execnodes.h"
#include "nodes/plannodes.h"
}

namespace simjoin::pg {

struct Statement {
  bool known;
  const ModifyTable *plan;        // nullptr: COPY, or the statement is not known
  const ModifyTableState *state;  // nullptr: only the plan is known
};

// Begins to note which statements run.
void install_statement_hooks();

// Returns the statement that fires the trigger. `context` is the statement's memory context.
//
// A session loads simjoin with its first call of it. If that call is the trigger's, the statement began
// before. It is then known only if a client sent it directly, and without changes in WITH.
Statement statement_of(const TriggerData &data, MemoryContext context);

// Notes what was done with a row of a statement that is not known. The statement ends with an error, once it
// has run, if it is one that can move rows or update them instead.
void check_at_end(const TriggerData &data, const char *function, MemoryContext context);

// Errors: it is not known whether the row is new.
[[noreturn]] void raise_unknown(const char *function, const char *detail, const char *hint);

}  // namespace simjoin::pg
