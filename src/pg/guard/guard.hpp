// What a trigger that keeps out near-duplicates watches: its arguments, checked against its table.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "commands/trigger.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"
}

#include "core/measure.hpp"
#include "pg/guard/statement.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {

// The functions for triggers.
enum class GuardAction : uint8_t { refuse, skip, mark };

struct Guard {
  GuardAction action;
  const char *function;  // the SQL name, for messages
  const char *column;    // of sets
  AttrNumber number;     // its number in the table of the trigger
  TokenType type;
  Measure measure;
  double threshold;
  Oid scope;  // the table whose rows count: the trigger's own, or the partitioned table above it
  const char *mark_column;  // to mark rows in, or to refuse only rows that are not marked; nullptr: none
  AttrNumber mark;          // its number in the table of the trigger, 0 for none
  Oid mark_type;            // boolean, or the type of a primary key
  Statement statement;      // that fires a trigger before the change
  ExprState *computes;  // the expression of a generated column, which has no value before the row is stored
  EState *state;        // it is evaluated in
};

// The arguments of a trigger.
struct TriggerArguments {
  const char *trigger;  // its name
  int count;
  char **values;
};

// Returns the part of a guard that the arguments tell. Errors where one is wrong for the table.
Guard *read_arguments(GuardAction action, Relation table, const TriggerArguments &arguments);

// Returns the guard of the call. It is made with the first call of a statement. Errors where the function is
// not called by a trigger that it can serve, or an argument of the trigger is wrong.
Guard *guard_of(FunctionCallInfo fcinfo, GuardAction action);

// Returns the number of the guard's column in a table of its scope, whose type is then the guard's. Errors
// where the table has no such column.
AttrNumber set_column(const Guard &guard, Relation table);

// Returns the number of the column whose marks say that rows of the table do not count, 0 if all rows do.
AttrNumber ignored_mark(const Guard &guard, Relation table);

// Returns whether the row is marked in this column of its table. A number of 0 is none.
bool is_marked(const Guard &guard, AttrNumber mark, TupleTableSlot *row);

// Errors, naming `function`, unless the rows of the table are stored here, where their writers can be waited
// for.
void check_is_plain(Relation table, const char *function);

}  // namespace simjoin::pg
