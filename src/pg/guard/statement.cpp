#include "pg/guard/statement.hpp"

extern "C" {
#include "commands/copy.h"
#include "executor/execdesc.h"
#include "executor/executor.h"
#include "tcop/pquery.h"
#include "utils/memutils.h"
#include "utils/portal.h"
}

#include "pg/base/compat_statements.hpp"

namespace simjoin::pg {
namespace {

// The queries that run and change tables, the innermost first.
struct RunningChange {
  const QueryDesc *query;
  RunningChange *outer;
};
RunningChange *running = nullptr;

// A row of a statement that began before simjoin was loaded.
struct Unchecked {
  const Trigger *trigger;
  const char *function;
  Unchecked *next;
};
Unchecked *unchecked = nullptr;

ExecutorRun_hook_type next_run_hook = nullptr;
ExecutorFinish_hook_type next_finish_hook = nullptr;

bool has_trigger(const List *targets, const Trigger *trigger, const ResultRelInfo **target) {
  const ListCell *cell;
  foreach (cell, targets) {
    *target = static_cast<const ResultRelInfo *>(lfirst(cell));
    const TriggerDesc *triggers = (*target)->ri_TrigDesc;
    for (int i = 0; triggers != nullptr && i < triggers->numtriggers; ++i)
      if (&triggers->triggers[i] == trigger) return true;
  }
  return false;
}

// Returns the node that changes the target, nullptr where it is no node of the query.
const ModifyTableState *node_of(const QueryDesc &query, const ResultRelInfo *target) {
  const ResultRelInfo *root = target->ri_RootResultRelInfo != nullptr ? target->ri_RootResultRelInfo : target;
  const auto *top = reinterpret_cast<const ModifyTableState *>(query.planstate);
  if (IsA(query.planstate, ModifyTableState) && top->rootResultRelInfo == root) return top;
  const ListCell *cell;
  foreach (cell, query.estate->es_auxmodifytables) {
    const auto *node = static_cast<const ModifyTableState *>(lfirst(cell));
    if (node->rootResultRelInfo == root) return node;
  }
  return nullptr;
}

// Returns the node of the query that fires the trigger, nullptr where none does. Each statement has copies of
// a table's triggers for itself.
const ModifyTableState *firing_node(const QueryDesc &query, const Trigger *trigger) {
  const ResultRelInfo *target;
  if (!has_trigger(query.estate->es_opened_result_relations, trigger, &target) &&
      !has_trigger(query.estate->es_tuple_routing_result_relations, trigger, &target))
    return nullptr;
  return node_of(query, target);
}

bool changes_tables(const QueryDesc &query) {
  return query.operation != CMD_SELECT || query.plannedstmt->hasModifyingCTE;
}

// Calls run(), during which the query is known.
template <class Run>
void note_running(const QueryDesc &query, Run run) {
  if (!changes_tables(query)) return run();
  RunningChange here = {&query, running};
  running = &here;
  PG_TRY();
  { run(); }
  PG_FINALLY();
  { running = here.outer; }
  PG_END_TRY();
}

void run_query(compat::RunArguments arguments) {
  note_running(*arguments.query, [&] {
    if (next_run_hook != nullptr)
      compat::call_run(next_run_hook, arguments);
    else
      compat::call_run(standard_ExecutorRun, arguments);
  });
}

// Errors if rows of the query were taken for new ones, and may have been others.
void check_rows(const QueryDesc &query) {
  for (const Unchecked *row = unchecked; row != nullptr; row = row->next) {
    const ModifyTableState *node = firing_node(query, row->trigger);
    if (node == nullptr) continue;
    const auto *plan = reinterpret_cast<const ModifyTable *>(node->ps.plan);
    if (node->operation == CMD_UPDATE || compat::merge_can_update(node) ||
        plan->onConflictAction == ONCONFLICT_UPDATE)
      raise_unknown(
          row->function, "simjoin was loaded while the statement ran.",
          "Run the statement again. With simjoin in session_preload_libraries it is loaded before.");
  }
}

void finish_query(QueryDesc *query) {
  if (unchecked != nullptr && changes_tables(*query)) check_rows(*query);
  note_running(*query, [&] {
    if (next_finish_hook != nullptr)
      next_finish_hook(query);
    else
      standard_ExecutorFinish(query);
  });
}

void forget_row(void *row) {
  Unchecked **place = &unchecked;
  while (*place != nullptr && *place != row) place = &(*place)->next;
  if (*place != nullptr) *place = (*place)->next;
}

// Returns the plan of the statement that a client sent, nullptr unless it is what runs in the context, and
// changes nothing in WITH.
const ModifyTable *plan_of_client(MemoryContext context) {
  if (ActivePortal == nullptr || MemoryContextGetParent(context) != ActivePortal->portalContext ||
      list_length(ActivePortal->stmts) != 1)
    return nullptr;
  const auto *statement = linitial_node(PlannedStmt, ActivePortal->stmts);
  if (statement->commandType == CMD_UTILITY || statement->hasModifyingCTE ||
      !IsA(statement->planTree, ModifyTable))
    return nullptr;
  return reinterpret_cast<const ModifyTable *>(statement->planTree);
}

}  // namespace

void install_statement_hooks() {
  next_run_hook = ExecutorRun_hook;
  ExecutorRun_hook = compat::run_hook<run_query>;
  next_finish_hook = ExecutorFinish_hook;
  ExecutorFinish_hook = finish_query;
}

Statement statement_of(const TriggerData &data, MemoryContext context) {
  for (const RunningChange *change = running; change != nullptr; change = change->outer)
    if (const ModifyTableState *node = firing_node(*change->query, data.tg_trigger))
      return {true, reinterpret_cast<const ModifyTable *>(node->ps.plan), node};
  // Whatever runs inside of COPY describes itself to errors, too.
  if (error_context_stack != nullptr && error_context_stack->callback == CopyFromErrorCallback)
    return {true, nullptr, nullptr};
  const ModifyTable *plan = plan_of_client(context);
  return {plan != nullptr, plan, nullptr};
}

void check_at_end(const TriggerData &data, const char *function, MemoryContext context) {
  for (const Unchecked *row = unchecked; row != nullptr; row = row->next)
    if (row->trigger == data.tg_trigger) return;
  auto *row = static_cast<Unchecked *>(MemoryContextAlloc(context, sizeof(Unchecked)));
  auto *callback =
      static_cast<MemoryContextCallback *>(MemoryContextAlloc(context, sizeof(MemoryContextCallback)));
  callback->func = forget_row;
  callback->arg = row;
  MemoryContextRegisterResetCallback(context, callback);
  *row = {data.tg_trigger, function, unchecked};
  unchecked = row;
}

void raise_unknown(const char *function, const char *detail, const char *hint) {
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("%s: it is not known whether a row is new, moved or updated", function),
                  errdetail("%s", detail), errhint("%s", hint)));
  pg_unreachable();
}

}  // namespace simjoin::pg
