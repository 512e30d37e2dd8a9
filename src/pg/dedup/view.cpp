// Refreshing and dropping dedup views.
#include "pg/base/pg.hpp"

extern "C" {
#include "access/relation.h"
#include "commands/tablecmds.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
}

#include "pg/base/compat.hpp"
#include "pg/base/named_arguments.hpp"
#include "pg/base/relation_names.hpp"
#include "pg/base/statements.hpp"
#include "pg/dedup/definition.hpp"
#include "pg/dedup/groups.hpp"
#include "pg/dedup/parts.hpp"
#include "pg/dedup/refresh.hpp"
#include "pg/dedup/table_triggers.hpp"
#include "pg/dedup/triggers.hpp"
#include "pg/query/result_rows.hpp"

namespace simjoin::pg {
namespace {

// Returns the definition of a dedup view. Errors, naming `function`, where the relation is not a dedup view.
DedupDefinition definition_of_view(Oid view, const char *function) {
  DedupDefinition definition;
  if (!find_definition(view, &definition))
    ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                    errmsg("%s: %s is not a dedup view", function, relation_name(view)),
                    errhint("Make one with create_dedup_view.")));
  return definition;
}

[[noreturn]] void raise_gone(const char *view, const char *function) {
  ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                  errmsg("%s: the dedup view %s has been dropped meanwhile", function, view)));
  pg_unreachable();
}

// Locks the table whose changes the view tracks, if any, and repairs its triggers. Returns whether they
// needed it. Every session locks this table first and then the view, since writers lock the table first, and
// then the tables that their triggers write to.
bool lock_tracked_table(const DedupDefinition &definition, const char *function) {
  if (!definition.tracked()) return false;
  const Oid table = tracked_table(definition.source).table;
  if (table == InvalidOid) return false;
  LockRelationOid(table, AccessShareLock);
  return mend_triggers(definition, function);
}

// Does so, and then locks and opens the view.
Relation lock_for_refresh(const DedupDefinition &definition, bool concurrently, const char *function,
                          bool *mended) {
  const char *name = relation_name(definition.view);
  *mended = lock_tracked_table(definition, function);
  // The lock is as strong as REFRESH will need. A refresh from changes lets readers go on in any case.
  const LOCKMODE lock = concurrently || definition.tracked() ? ExclusiveLock : AccessExclusiveLock;
  Relation view = try_relation_open(definition.view, lock);
  if (view == nullptr) raise_gone(name, function);
  CheckTableNotInUse(view, "REFRESH MATERIALIZED VIEW");
  return view;
}

// Locks the table, unless it is InvalidOid, and then the view. REFRESH MATERIALIZED VIEW locks them the other
// way round, so the table is unlocked while the view is waited for.
void lock_for_drop(Oid table, Oid view) {
  for (;;) {
    if (table != InvalidOid) LockRelationOid(table, AccessExclusiveLock);
    if (ConditionalLockRelationOid(view, AccessExclusiveLock)) return;
    if (table != InvalidOid) UnlockRelationOid(table, AccessExclusiveLock);
    LockRelationOid(view, AccessExclusiveLock);
    if (table == InvalidOid) return;
    UnlockRelationOid(view, AccessExclusiveLock);
  }
}

// Drops the view, the parts that count as its own, and the triggers that no other view needs.
void drop_view(Oid view, const char *function) {
  DedupDefinition definition = definition_of_view(view, function);
  const char *name = relation_name(view);
  compat::check_owns(view, OBJECT_MATVIEW);
  Oid table = definition.tracked() ? tracked_table(definition.source).table : InvalidOid;
  if (!is_owned(table)) table = InvalidOid;  // its owner then drops the triggers
  lock_for_drop(table, view);
  if (!find_definition(view, &definition)) raise_gone(name, function);
  record_parts(definition);
  // The table may be gone if the query has meanwhile been given another table.
  const char *triggers = is_owned(table) ? drop_trigger_statements(table, view) : "";
  execute_statement(psprintf("DROP MATERIALIZED VIEW %s;%s", relation_name(view), triggers));
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_refresh_dedup_view);
Datum simjoin_refresh_dedup_view(PG_FUNCTION_ARGS) {
  constexpr const char *function = "refresh_dedup_view";
  ResultRows result(fcinfo);
  NamedArguments(fcinfo).refuse_null(function, {});
  const Oid view = PG_GETARG_OID(0);
  const DedupDefinition definition = definition_of_view(view, function);
  compat::check_may_refresh(view);
  const bool concurrently = PG_GETARG_BOOL(1);
  bool mended;
  Relation relation = lock_for_refresh(definition, concurrently, function, &mended);
  RefreshFigures figures;
  const bool from_changes = !mended && refresh_from_changes(relation, definition, &figures);
  const char *how = concurrently && RelationIsPopulated(relation) ? "CONCURRENTLY " : "";
  relation_close(relation, NoLock);
  if (!from_changes) {
    execute_for(function, psprintf("REFRESH MATERIALIZED VIEW %s%s", how, relation_name(view)));
    figures = last_refresh_figures();
  }
  result.add({Int64GetDatum(figures.rows), Int64GetDatum(figures.new_rows),
              Int64GetDatum(figures.changed_rows), Int64GetDatum(figures.removed_rows),
              Int64GetDatum(figures.new_pairs), Int64GetDatum(figures.read_rows)});
  return 0;
}

PG_FUNCTION_INFO_V1(simjoin_drop_dedup_view);
Datum simjoin_drop_dedup_view(PG_FUNCTION_ARGS) {
  constexpr const char *function = "drop_dedup_view";
  NamedArguments(fcinfo).refuse_null(function, {});
  drop_view(PG_GETARG_OID(0), function);
  PG_RETURN_VOID();
}
}

}  // namespace simjoin::pg
