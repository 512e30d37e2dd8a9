#include "pg/guard/creation.hpp"

#include "pg/base/pg.hpp"

extern "C" {
#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "nodes/parsenodes.h"
#include "parser/parse_func.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/rel.h"
#include "utils/resowner.h"
}

#include <string_view>

#include "pg/base/bound_symbol.hpp"
#include "pg/base/growing_array.hpp"
#include "pg/base/relation_names.hpp"
#include "pg/guard/guard.hpp"
#include "pg/guard/set_index.hpp"

namespace simjoin::pg {
namespace {

struct ActionOfSymbol {
  std::string_view symbol;
  GuardAction action;
};
constexpr ActionOfSymbol guard_symbols[] = {{"simjoin_refuse_similar", GuardAction::refuse},
                                            {"simjoin_skip_similar", GuardAction::skip},
                                            {"simjoin_mark_similar", GuardAction::mark}};

ProcessUtility_hook_type next_utility_hook = nullptr;

// Tells of a table in which each look reads all rows. Partitions may have indexes of their own.
void tell_of_missing_index(const Guard &guard, Relation table, const char *trigger) {
  if (table->rd_rel->relkind != RELKIND_RELATION ||
      has_index(table, guard.number, guard.measure, guard.threshold))
    return;
  const char *measure = measure_names[static_cast<int>(guard.measure)].data();
  const char *threshold = DatumGetCString(DirectFunctionCall1(float8out, Float8GetDatum(guard.threshold)));
  ereport(NOTICE, (errmsg("trigger \"%s\" will read the whole table \"%s\" for each new row", trigger,
                          RelationGetRelationName(table)),
                   errdetail("No index on the sets of \"%s\" serves the measure %s from %s on.", guard.column,
                             measure, threshold),
                   errhint("Make one: SELECT create_similarity_index(%s, %s, %s, %s).",
                           quote_literal_cstr(relation_name(RelationGetRelid(table))),
                           quote_literal_cstr(quote_identifier(guard.column)), threshold,
                           quote_literal_cstr(measure))));
}

// Checks the trigger that the statement has made. Errors where an argument is wrong.
void check_trigger(CreateTrigStmt *statement, GuardAction action, Oid oid) {
  TriggerArguments arguments = {statement->trigname, list_length(statement->args),
                                allocate<char *>(static_cast<size_t>(list_length(statement->args)))};
  for (int i = 0; i < arguments.count; ++i) arguments.values[i] = strVal(list_nth(statement->args, i));
  Relation table = table_open(oid, AccessShareLock);
  tell_of_missing_index(*read_arguments(action, table, arguments), table, statement->trigname);
  table_close(table, AccessShareLock);
}

// Makes a warning of an error of the check: the trigger has been made, and a dump of it must be restored.
void warn_of_trigger(CreateTrigStmt *statement, GuardAction action, Oid table) {
  MemoryContext context = CurrentMemoryContext;
  ResourceOwner owner = CurrentResourceOwner;
  ErrorData *volatile error = nullptr;
  BeginInternalSubTransaction(nullptr);
  MemoryContextSwitchTo(context);
  PG_TRY();
  {
    check_trigger(statement, action, table);
    ReleaseCurrentSubTransaction();
  }
  PG_CATCH();
  {
    MemoryContextSwitchTo(context);
    error = CopyErrorData();
    FlushErrorState();
    RollbackAndReleaseCurrentSubTransaction();
  }
  PG_END_TRY();
  MemoryContextSwitchTo(context);
  CurrentResourceOwner = owner;
  if (error == nullptr) return;
  const int category = ERRCODE_TO_CATEGORY(error->sqlerrcode);
  if (category == ERRCODE_OPERATOR_INTERVENTION || category == ERRCODE_INSUFFICIENT_RESOURCES)
    ReThrowError(error);
  ereport(WARNING,
          (errmsg("trigger \"%s\" will raise an error for each row: %s", statement->trigname, error->message),
           error->hint == nullptr ? 0 : errhint("%s", error->hint)));
  FreeErrorData(error);
}

void look_at_trigger(CreateTrigStmt *statement) {
  const Oid function = LookupFuncName(statement->funcname, 0, nullptr, true);
  if (!OidIsValid(function)) return;
  const ActionOfSymbol *found = entry_of_symbol(guard_symbols, bound_symbol(function));
  const Oid table = RangeVarGetRelid(statement->relation, AccessShareLock, true);
  if (found != nullptr && OidIsValid(table)) warn_of_trigger(statement, found->action, table);
}

void run_utility(PlannedStmt *statement, const char *text, bool read_only_tree, ProcessUtilityContext context,
                 ParamListInfo parameters, QueryEnvironment *environment, DestReceiver *receiver,
                 QueryCompletion *completion) {
  const ProcessUtility_hook_type run =
      next_utility_hook != nullptr ? next_utility_hook : standard_ProcessUtility;
  const bool makes_trigger = IsA(statement->utilityStmt, CreateTrigStmt);
  run(statement, text, read_only_tree, context, parameters, environment, receiver, completion);
  if (makes_trigger) look_at_trigger(castNode(CreateTrigStmt, statement->utilityStmt));
}

}  // namespace

void install_creation_hook() {
  next_utility_hook = ProcessUtility_hook;
  ProcessUtility_hook = run_utility;
}

}  // namespace simjoin::pg
