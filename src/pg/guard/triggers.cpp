// The functions for triggers that keep near-duplicates out of a table.
#include "pg/base/pg.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "utils/datum.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

#include "pg/guard/arrival.hpp"
#include "pg/guard/guard.hpp"
#include "pg/guard/keys.hpp"
#include "pg/guard/similar_row.hpp"
#include "pg/guard/versions.hpp"

namespace simjoin::pg {
namespace {

// A value of a row.
struct Value {
  Datum datum;
  bool isnull;
};

Value value_of(TupleTableSlot *row, AttrNumber column) {
  Value value;
  value.datum = slot_getattr(row, column, &value.isnull);
  return value;
}

bool same(const Value &a, const Value &b) {
  constexpr bool by_value = false;
  constexpr int of_any_length = -1;
  return a.isnull == b.isnull && (a.isnull || datum_image_eq(a.datum, b.datum, by_value, of_any_length));
}

TupleTableSlot *new_row(const TriggerData &data) {
  return TRIGGER_FIRED_BY_UPDATE(data.tg_event) ? data.tg_newslot : data.tg_trigslot;
}

// Returns whether the trigger was fired by an update that left the set as it was.
bool kept_set(const TriggerData &data, const Guard &guard, const Value &set) {
  return TRIGGER_FIRED_BY_UPDATE(data.tg_event) && same(value_of(data.tg_trigslot, guard.number), set);
}

// Returns the set of a row that is not stored yet. It is in memory that is reset with the next call.
Value coming_set(Guard *guard, TupleTableSlot *row) {
  if (guard->computes == nullptr) return value_of(row, guard->number);
  ExprContext *context = GetPerTupleExprContext(guard->state);
  ResetExprContext(context);
  context->ecxt_scantuple = row;
  Value value;
  value.datum = ExecEvalExprSwitchContext(guard->computes, context, &value.isnull);
  return value;
}

// Errors: the row is similar to another one. Says what the user may know of the other row.
[[noreturn]] void raise_refused(const TriggerData &data, const Guard &guard, const SimilarRow &similar,
                                const char *hint) {
  Relation table = table_open(similar.at.table, NoLock);
  TupleTableSlot *row = table_slot_create(table, nullptr);
  ItemPointerData place = similar.at.place;
  const bool fetched = table_tuple_fetch_row_version(table, &place, SnapshotAny, row);
  const char *key = fetched ? readable_key(table, row) : nullptr;
  const char *measure = measure_names[static_cast<int>(guard.measure)].data();
  const char *other = key == nullptr || *key == '\0' ? "another row" : psprintf("the row %s", key);
  ereport(ERROR, (errcode(ERRCODE_EXCLUSION_VIOLATION),
                  errmsg("row of table \"%s\" violates \"%s\": it is similar to another row",
                         RelationGetRelationName(data.tg_relation), data.tg_trigger->tgname),
                  key == nullptr ? errdetail("The similarity (%s) to another row must be below %g.", measure,
                                             guard.threshold)
                                 : errdetail("The similarity (%s) to %s is %g, and must be below %g.",
                                             measure, other, similar.similarity, guard.threshold),
                  errhint("%s", hint), errtableconstraint(data.tg_relation, data.tg_trigger->tgname)));
  pg_unreachable();
}

// Errors where the transaction keeps to one snapshot that does not see the similar row: what is done with the
// new row would depend on it.
void check_sees(Relation table, TupleTableSlot *row) {
  if (!IsolationUsesXactSnapshot() || table_tuple_satisfies_snapshot(table, row, GetTransactionSnapshot()))
    return;
  bool isnull;
  const Datum writer = slot_getsysattr(row, MinTransactionIdAttributeNumber, &isnull);
  if (TransactionIdIsCurrentTransactionId(DatumGetTransactionId(writer))) return;
  ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                  errmsg("could not serialize access due to a similar row of a concurrent transaction"),
                  errhint("The transaction might succeed if retried.")));
}

// Returns what a row is marked with: whether there is a similar row, or its key.
Value mark_of(const Guard &guard, bool found, Relation table, TupleTableSlot *similar) {
  if (guard.mark_type == BOOLOID) return {BoolGetDatum(found), false};
  if (!found) return {0, true};
  const AttrNumber key = key_column(table);
  if (key == InvalidAttrNumber ||
      TupleDescAttr(RelationGetDescr(table), key - 1)->atttypid != guard.mark_type)
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("%s: the primary key of \"%s\" cannot mark a row of another partition",
                           guard.function, RelationGetRelationName(table)),
                    errhint("Give all partitions a primary key of one column and of the same type.")));
  return value_of(similar, key);
}

HeapTuple with_mark(const TriggerData &data, const Guard &guard, HeapTuple tuple, Value mark) {
  const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(data.tg_relation), guard.mark - 1);
  const Value given = value_of(new_row(data), guard.mark);
  if (given.isnull == mark.isnull &&
      (mark.isnull || datum_image_eq(given.datum, mark.datum, attribute->attbyval, attribute->attlen)))
    return tuple;
  int column = guard.mark;
  return heap_modify_tuple_by_cols(tuple, RelationGetDescr(data.tg_relation), 1, &column, &mark.datum,
                                   &mark.isnull);
}

// Returns the row that is similar to the set of a row before the change.
SimilarRow find_before(const TriggerData &data, const Guard &guard, Datum set) {
  if (TRIGGER_FIRED_BY_UPDATE(data.tg_event))
    return find_similar_row(guard, set, {{RelationGetRelid(data.tg_relation), data.tg_trigtuple->t_self}});
  const ModifyTable *plan = guard.statement.plan;
  if (plan == nullptr || plan->onConflictAction != ONCONFLICT_UPDATE) return find_similar_row(guard, set, {});
  Upsert upsert = {};
  upsert.table = data.tg_relation;
  upsert.row = new_row(data);
  upsert.arbiters = plan->arbiterIndexes;
  return find_similar_row(guard, set, {}, &upsert);
}

// Returns what is stored for a row that is similar to another one: nullptr for nothing.
HeapTuple similar_row_to_store(const TriggerData &data, const Guard &guard, HeapTuple tuple,
                               SimilarRow similar, Arrival arrival) {
  Relation table = table_open(similar.at.table, NoLock);
  TupleTableSlot *row = table_slot_create(table, nullptr);
  if (!table_tuple_fetch_row_version(table, &similar.at.place, SnapshotAny, row))
    elog(ERROR, "%s: a similar row is gone", guard.function);
  check_sees(table, row);
  HeapTuple result = nullptr;
  if (guard.action == GuardAction::mark) {
    result = with_mark(data, guard, tuple, mark_of(guard, true, table, row));
  } else if (arrival == Arrival::entered) {
    raise_refused(data, guard, similar,
                  "An update that moves a row to another partition cannot leave it out.");
  }
  ExecDropSingleTupleTableSlot(row);
  table_close(table, NoLock);
  return result;
}

// Returns the row that a trigger before the change gives: nullptr for none.
HeapTuple row_to_store(const TriggerData &data, Guard *guard, HeapTuple tuple, Arrival arrival) {
  const Value set = coming_set(guard, new_row(data));
  if (kept_set(data, *guard, set)) return tuple;
  SimilarRow similar = {};
  if (!set.isnull) similar = find_before(data, *guard, set.datum);
  if (similar.found) return similar_row_to_store(data, *guard, tuple, similar, arrival);
  return guard->action == GuardAction::skip
             ? tuple
             : with_mark(data, *guard, tuple, mark_of(*guard, false, nullptr, nullptr));
}

// Does what a trigger before the change does.
HeapTuple guard_change(FunctionCallInfo fcinfo, GuardAction action) {
  Guard *guard = guard_of(fcinfo, action);
  const TriggerData &data = *reinterpret_cast<TriggerData *>(fcinfo->context);
  HeapTuple tuple = TRIGGER_FIRED_BY_UPDATE(data.tg_event) ? data.tg_newtuple : data.tg_trigtuple;
  const Arrival arrival = arrival_of(*guard, data);
  // The triggers for updates decide about an update, whether it moves the row or not.
  if (arrival == Arrival::moved) return tuple;
  HeapTuple result = row_to_store(data, guard, tuple, arrival);
  if (arrival == Arrival::unknown && result != tuple) check_was_new(*guard, data, fcinfo->flinfo->fn_mcxt);
  return result;
}

// Errors where the row that the event stored, or its latest version, is similar to another one.
void check_stored(const TriggerData &data, const Guard &guard) {
  TupleTableSlot *event = new_row(data);
  // What was checked when it was stored needs no second check. A row that was marked was not checked.
  if (kept_set(data, guard, value_of(event, guard.number)) && !is_marked(guard, guard.mark, data.tg_trigslot))
    return;
  Relation table = data.tg_relation;
  TupleTableSlot *row = table_slot_create(table, nullptr);
  ItemPointerData place = event->tts_tid;
  if (fetch_latest(table, &place, row)) {
    const Value set = value_of(row, guard.number);
    const Oid oid = RelationGetRelid(table);
    RowPlace old = {};
    if (TRIGGER_FIRED_BY_UPDATE(data.tg_event)) old = {oid, data.tg_trigslot->tts_tid};
    if (!set.isnull && !is_marked(guard, guard.mark, row)) {
      const SimilarRow similar =
          find_similar_row(guard, set.datum, {{oid, place}, {oid, event->tts_tid}, old});
      if (similar.found)
        raise_refused(data, guard, similar,
                      "Leave such rows out, with skip_similar() for example, or mark them with "
                      "mark_similar().");
    }
  }
  ExecDropSingleTupleTableSlot(row);
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_refuse_similar);
Datum simjoin_refuse_similar(PG_FUNCTION_ARGS) {
  const Guard *guard = guard_of(fcinfo, GuardAction::refuse);
  check_stored(*reinterpret_cast<TriggerData *>(fcinfo->context), *guard);
  return PointerGetDatum(nullptr);
}

PG_FUNCTION_INFO_V1(simjoin_skip_similar);
Datum simjoin_skip_similar(PG_FUNCTION_ARGS) {
  return PointerGetDatum(guard_change(fcinfo, GuardAction::skip));
}

PG_FUNCTION_INFO_V1(simjoin_mark_similar);
Datum simjoin_mark_similar(PG_FUNCTION_ARGS) {
  return PointerGetDatum(guard_change(fcinfo, GuardAction::mark));
}
}

}  // namespace simjoin::pg
