#include "pg/dedup/table_triggers.hpp"

extern "C" {
#include "access/table.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/reltrigger.h"
}

#include "pg/base/compat.hpp"
#include "pg/base/relation_names.hpp"
#include "pg/dedup/definition.hpp"
#include "pg/dedup/tracking_views.hpp"

namespace simjoin::pg {
namespace {

// The triggers of a table. Triggers for each statement note what the statement changes. Logical replication
// runs only triggers for each row, so sessions that replicate have these. One of them has a transition table
// that is not read. It keeps the table from becoming a partition: rows of a partition change through its
// parent, unnoticed by triggers for each statement.
struct TriggerParts {
  const char *name;
  const char *event;
  const char *level;
  int16 type;   // level and events, as in pg_trigger
  char firing;  // when it fires, as in pg_trigger
};
constexpr TriggerParts triggers[] = {
    {"simjoin_insert", "INSERT", "REFERENCING NEW TABLE AS simjoin_new FOR EACH STATEMENT",
     TRIGGER_TYPE_INSERT, TRIGGER_FIRES_ON_ORIGIN},
    {"simjoin_update", "UPDATE",
     "REFERENCING OLD TABLE AS simjoin_old NEW TABLE AS simjoin_new FOR EACH STATEMENT", TRIGGER_TYPE_UPDATE,
     TRIGGER_FIRES_ON_ORIGIN},
    {"simjoin_delete", "DELETE", "REFERENCING OLD TABLE AS simjoin_old FOR EACH STATEMENT",
     TRIGGER_TYPE_DELETE, TRIGGER_FIRES_ON_ORIGIN},
    {"simjoin_truncate", "TRUNCATE", "FOR EACH STATEMENT", TRIGGER_TYPE_TRUNCATE, TRIGGER_FIRES_ALWAYS},
    {"simjoin_replicated_insert", "INSERT", "REFERENCING NEW TABLE AS simjoin_new FOR EACH ROW",
     TRIGGER_TYPE_ROW | TRIGGER_TYPE_INSERT, TRIGGER_FIRES_ON_REPLICA},
    {"simjoin_replicated_change", "UPDATE OR DELETE", "FOR EACH ROW",
     TRIGGER_TYPE_ROW | TRIGGER_TYPE_UPDATE | TRIGGER_TYPE_DELETE, TRIGGER_FIRES_ON_REPLICA}};

// Calls body(trigger) for each trigger of the table that runs dedup_view_changes.
template <class Body>
void for_triggers(Oid table, Body &&body) {
  Relation relation = table_open(table, AccessShareLock);
  const TriggerDesc *list = relation->trigdesc;
  for (int i = 0; list != nullptr && i < list->numtriggers; ++i)
    if (is_function(list->triggers[i].tgfoid, "simjoin_track_changes")) body(list->triggers[i]);
  table_close(relation, NoLock);
}

// Returns whether the trigger, which runs dedup_view_changes, sees what this one sees. Its name counts for
// nothing: who may make triggers on the table may replace one by another that sees less.
bool sees_as_much(const Trigger &trigger, const TriggerParts &wanted) {
  if (trigger.tgtype != wanted.type || trigger.tgqual != nullptr || trigger.tgnattr > 0 ||
      trigger.tgdeferrable)
    return false;
  // The transition table of the one for rows keeps the table from becoming a partition.
  if (TRIGGER_FOR_ROW(wanted.type)) return !TRIGGER_FOR_INSERT(wanted.type) || trigger.tgnewtable != nullptr;
  const bool wants_old = (wanted.type & (TRIGGER_TYPE_UPDATE | TRIGGER_TYPE_DELETE)) != 0;
  const bool wants_new = (wanted.type & (TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE)) != 0;
  return (!wants_old || trigger.tgoldtable != nullptr) && (!wants_new || trigger.tgnewtable != nullptr);
}

// What the table has of one of the triggers.
struct TableTrigger {
  const char *name;  // NULL where it is missing
  char firing;
  bool fires;  // in the sessions that it was made for, or in more
};

TableTrigger find_trigger(Oid table, const TriggerParts &wanted) {
  TableTrigger found = {nullptr, TRIGGER_DISABLED, false};
  for_triggers(table, [&](const Trigger &trigger) {
    if (found.fires || !sees_as_much(trigger, wanted)) return;
    const char firing = trigger.tgenabled;
    found = {pstrdup(trigger.tgname), firing, firing == wanted.firing || firing == TRIGGER_FIRES_ALWAYS};
  });
  return found;
}

// Returns the clause of ENABLE TRIGGER for when a trigger fires.
const char *firing_clause(char firing) {
  switch (firing) {
    case TRIGGER_FIRES_ALWAYS:
      return "ALWAYS ";
    case TRIGGER_FIRES_ON_REPLICA:
      return "REPLICA ";
    default:
      return "";
  }
}

}  // namespace

bool has_triggers(Oid table) {
  for (const TriggerParts &wanted : triggers)
    if (!find_trigger(table, wanted).fires) return false;
  return true;
}

bool have_lost_modes(Oid table) {
  bool lost = false;
  for (const TriggerParts &wanted : triggers) {
    const TableTrigger found = find_trigger(table, wanted);
    if (found.fires) continue;
    if (found.firing != TRIGGER_FIRES_ON_ORIGIN) return false;
    lost = true;
  }
  return lost;
}

const char *enabling_statement(Oid table) {
  StringInfoData statement;
  initStringInfo(&statement);
  for (const TriggerParts &wanted : triggers) {
    const TableTrigger found = find_trigger(table, wanted);
    if (found.name == nullptr) return nullptr;
    if (found.fires) continue;
    if (statement.len == 0)
      appendStringInfo(&statement, "ALTER TABLE %s", relation_name(table));
    else
      appendStringInfoChar(&statement, ',');
    appendStringInfo(&statement, " ENABLE %sTRIGGER %s", firing_clause(wanted.firing),
                     quote_identifier(found.name));
  }
  return statement.len == 0 ? nullptr : statement.data;
}

const char *trigger_statements(Oid table, const char *schema) {
  StringInfoData statements;
  initStringInfo(&statements);
  for (const TriggerParts &trigger : triggers) {
    appendStringInfo(&statements,
                     "CREATE OR REPLACE TRIGGER %s AFTER %s ON %s %s EXECUTE FUNCTION "
                     "%s.dedup_view_changes();",
                     trigger.name, trigger.event, relation_name(table), trigger.level, schema);
    if (trigger.firing != TRIGGER_FIRES_ON_ORIGIN)
      appendStringInfo(&statements, "ALTER TABLE %s ENABLE %sTRIGGER %s;", relation_name(table),
                       firing_clause(trigger.firing), trigger.name);
  }
  return statements.data;
}

const char *drop_trigger_statements(Oid table, Oid view) {
  StringInfoData statements;
  initStringInfo(&statements);
  for (const TrackingView *other = find_tracking_views(table); other != nullptr; other = other->next)
    if (other->view != view) return statements.data;
  for_triggers(table, [&](const Trigger &trigger) {
    appendStringInfo(&statements, "DROP TRIGGER %s ON %s;", quote_identifier(trigger.tgname),
                     relation_name(table));
  });
  return statements.data;
}

}  // namespace simjoin::pg
