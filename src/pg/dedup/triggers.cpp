#include "pg/dedup/triggers.hpp"

extern "C" {
#include "access/table.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/datum.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"
}

#include <initializer_list>

#include "pg/base/interrupts.hpp"
#include "pg/base/relation_names.hpp"
#include "pg/base/statements.hpp"
#include "pg/dedup/changes.hpp"
#include "pg/dedup/definition.hpp"
#include "pg/dedup/parts.hpp"
#include "pg/dedup/table_triggers.hpp"
#include "pg/dedup/tracking_views.hpp"
#include "pg/query/query_source.hpp"

namespace simjoin::pg {
namespace {

// Calls body(notes) to write something down for the view, if it still exists. Who writes to the tracked table
// needs no right to the table of changes, which belongs to the owner of the view, who may track.
template <class Body>
void with_notes(const TrackingView &view, Body &&body) {
  Relation changes = open_changes(view.view, view.changes, view.key_type);
  if (changes == nullptr) return;
  ChangeNotes notes = open_notes(changes);
  body(&notes);
  close_notes(&notes);
  table_close(changes, NoLock);
}

// Gives the id of the row in the slot. Returns false where it is NULL.
bool id_in(TupleTableSlot *slot, const TrackingView &view, Datum *id) {
  bool isnull;
  *id = slot_getattr(slot, view.id, &isnull);
  return !isnull;
}

void note_id(ChangeNotes *notes, const TrackingView &view, Datum id) {
  if (OidIsValid(view.key_type))
    note_key(notes, id);
  else
    note_id(notes, id_of(id, view.id_type));
}

// Reads a transition table row by row.
struct TransitionRows {
  Tuplestorestate *store;
  TupleTableSlot *slot;
};

TransitionRows open_rows(Tuplestorestate *store, Relation relation) {
  if (store == nullptr) return {nullptr, nullptr};
  tuplestore_select_read_pointer(store, 0);  // other readers of the store have pointers of their own
  tuplestore_rescan(store);
  return {store, MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsMinimalTuple)};
}

bool next_row(const TransitionRows &rows) {
  return rows.store != nullptr && tuplestore_gettupleslot(rows.store, true, false, rows.slot);
}

void close_rows(const TransitionRows &rows) {
  if (rows.slot != nullptr) ExecDropSingleTupleTableSlot(rows.slot);
}

// Notes the ids of rows before and after a statement. A row without an id cannot be found again, so the next
// refresh reads everything, and says what is wrong.
void note_statement(const TriggerData &data, const TrackingView &view) {
  TransitionRows before = open_rows(data.tg_oldtable, data.tg_relation);
  TransitionRows after = open_rows(data.tg_newtable, data.tg_relation);
  bool more_before = next_row(before), more_after = next_row(after);
  const auto note_rows = [&](ChangeNotes *notes) {
    bool without_id = false;
    while (more_before || more_after) {
      check_interrupts();
      Datum id = 0, new_id = 0;
      const bool has_id = more_before && id_in(before.slot, view, &id);
      const bool has_new_id = more_after && id_in(after.slot, view, &new_id);
      const bool same = has_id && has_new_id && datum_image_eq(id, new_id, view.by_value, view.length);
      if (has_id) note_id(notes, view, id);
      if (has_new_id && !same) note_id(notes, view, new_id);
      without_id |= (more_before && !has_id) || (more_after && !has_new_id);
      more_before = next_row(before);
      more_after = next_row(after);
    }
    if (without_id) note_all(notes);
  };
  if (more_before || more_after) with_notes(view, note_rows);
  close_rows(before);
  close_rows(after);
}

// Notes the ids of a row before and after a change.
void note_row(const TriggerData &data, const TrackingView &view) {
  with_notes(view, [&](ChangeNotes *notes) {
    Datum id;
    for (TupleTableSlot *slot : {data.tg_trigslot, data.tg_newslot}) {
      if (slot == nullptr || TTS_EMPTY(slot)) continue;
      if (slot == data.tg_newslot && !TRIGGER_FIRED_BY_UPDATE(data.tg_event)) continue;
      if (id_in(slot, view, &id))
        note_id(notes, view, id);
      else
        note_all(notes);
    }
  });
}

// Returns whether a statement of this session uses the table, so that it cannot be altered.
bool is_in_use(Oid table) {
  Relation relation = table_open(table, AccessShareLock);
  const bool in_use = relation->rd_refcnt != 1 || AfterTriggerPendingOnRel(table);
  table_close(relation, NoLock);
  return in_use;
}

}  // namespace

const char *obstacle_to_tracking(Oid source) {
  const char *obstacle = obstacle_in(source);
  if (obstacle != nullptr) return obstacle;
  const Oid table = tracked_table(source).table;
  if (!is_owned(table)) return "the view's owner does not own the table";
  if (has_triggers(table)) return nullptr;
  return enabling_statement(table) == nullptr ? "a trigger on the table is missing"
                                              : "a trigger on the table is not enabled as it was made";
}

bool is_owned(Oid table) {
  Oid owner;
  return find_owner(table, &owner) && has_privs_of_role(GetUserId(), owner);
}

void note_missing_triggers(Oid table) {
  if (!is_owned(table)) return;  // no triggers will be made, either
  LockRelationOid(table, ShareRowExclusiveLock);
  if (has_triggers(table)) return;
  for (const TrackingView *view = find_tracking_views(table); view != nullptr; view = view->next)
    if (may_track(view->view, table)) with_notes(*view, [](ChangeNotes *notes) { note_all(notes); });
}

bool mend_triggers(const DedupDefinition &definition, const char *function) {
  const Oid table = tracked_table(definition.source).table;
  Oid owner;
  if (obstacle_in(definition.source) != nullptr || !is_owned(table) || !find_owner(definition.view, &owner) ||
      !may_track(definition.view, table) || !have_lost_modes(table) || is_in_use(table) ||
      !ConditionalLockRelationOid(table, ShareRowExclusiveLock))
    return false;
  if (!have_lost_modes(table)) return false;  // another session has repaired them meanwhile
  Oid user;
  int security;
  GetUserIdAndSecContext(&user, &security);
  SetUserIdAndSecContext(owner, security | SECURITY_RESTRICTED_OPERATION);
  note_missing_triggers(table);
  execute_statement(enabling_statement(table));
  SetUserIdAndSecContext(user, security);
  ereport(NOTICE, (errmsg("%s: all rows are read, since triggers on %s had been disabled and enabled again",
                          function, relation_name(table)),
                   errdetail("Changes meanwhile were not recorded. The triggers fire again as they were "
                             "made to, and the next refresh reads changes only.")));
  return true;
}

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_track_changes);
Datum simjoin_track_changes(PG_FUNCTION_ARGS) {
  if (!CALLED_AS_TRIGGER(fcinfo))
    ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                    errmsg("dedup_view_changes can only be called by a trigger")));
  const auto *data = reinterpret_cast<TriggerData *>(fcinfo->context);
  const bool truncated = TRIGGER_FIRED_BY_TRUNCATE(data->tg_event);
  const Oid table = RelationGetRelid(data->tg_relation);
  for (const TrackingView *view = tracking_views(table); view != nullptr; view = view->next) {
    if (!may_track(view->view, table)) continue;
    if (truncated) {
      with_notes(*view, [](ChangeNotes *notes) { note_all(notes); });
    } else if (TRIGGER_FIRED_FOR_ROW(data->tg_event)) {
      note_row(*data, *view);
    } else {
      note_statement(*data, *view);
    }
  }
  return PointerGetDatum(nullptr);
}
}

}  // namespace simjoin::pg
