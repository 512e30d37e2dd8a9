#include "pg/guard/guard.hpp"

extern "C" {
#include "access/genam.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "rewrite/rewriteHandler.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
}

#include <cstdlib>
#include <cstring>

#include "pg/base/arguments.hpp"
#include "pg/guard/keys.hpp"

namespace simjoin::pg {
namespace {

struct ActionParts {
  const char *function;
  bool before;               // whether its trigger fires before the row is stored
  int required, most;        // arguments
  int measure, mark_column;  // the numbers of these arguments; -1: none
  const char *hint;
};
constexpr ActionParts actions[] = {
    {"refuse_similar", false, 2, 4, 2, 3,
     "Its arguments are column, threshold, measure and column of marks, as in ('tokens', 0.8) or ('tokens', "
     "0.8, 'jaccard', 'duplicate_of')."},
    {"skip_similar", true, 2, 3, 2, -1,
     "Its arguments are column, threshold and measure, as in ('tokens', 0.8)."},
    {"mark_similar", true, 3, 4, 3, 2,
     "Its arguments are column, threshold, column to mark and measure, as in ('tokens', 0.8, "
     "'duplicate_of')."}};

const ActionParts &parts_of(GuardAction action) {
  return actions[static_cast<int>(action)];
}

// Errors unless the trigger fires for each row that is inserted or updated, before or after that as the
// action needs it.
void check_event(FunctionCallInfo fcinfo, const ActionParts &parts) {
  const TriggerData *data =
      CALLED_AS_TRIGGER(fcinfo) ? reinterpret_cast<TriggerData *>(fcinfo->context) : nullptr;
  if (data != nullptr && TRIGGER_FIRED_FOR_ROW(data->tg_event) &&
      (TRIGGER_FIRED_BY_INSERT(data->tg_event) || TRIGGER_FIRED_BY_UPDATE(data->tg_event)) &&
      (parts.before ? TRIGGER_FIRED_BEFORE(data->tg_event) : TRIGGER_FIRED_AFTER(data->tg_event)))
    return;
  const char *timing = parts.before ? "BEFORE" : "AFTER";
  ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                  errmsg("%s can only be called by a trigger %s INSERT or UPDATE, for each row",
                         parts.function, timing),
                  errhint("Make it as in CREATE %sTRIGGER ... %s INSERT OR UPDATE OF ... FOR EACH ROW.",
                          parts.before ? "" : "CONSTRAINT ", timing)));
}

// Returns the number of the column. Errors where the table has no such column.
AttrNumber column_number(const Guard &guard, Relation table, const char *column) {
  const AttrNumber number = get_attnum(RelationGetRelid(table), column);
  if (number > 0) return number;
  ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
                  errmsg("%s: the table \"%s\" has no column \"%s\"", guard.function,
                         RelationGetRelationName(table), column),
                  std::strchr(column, '(') != nullptr
                      ? errhint("Name a column of the table. For a set of a text add a generated column.")
                      : errhint("Name a column of the table. If it was renamed, make the trigger anew.")));
  pg_unreachable();
}

// Sets the type of the column's sets.
void set_type(Guard *guard, Relation table) {
  guard->number = column_number(*guard, table, guard->column);
  const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(table), guard->number - 1);
  if (!token_type_of(attribute->atttypid, &guard->type))
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("%s: the column \"%s\" is of type %s", guard->function, guard->column,
                           format_type_be(attribute->atttypid)),
                    errhint("A set is an array of type integer[], bigint[] or text[].")));
  if (attribute->attgenerated != '\0' && attribute->attgenerated != ATTRIBUTE_GENERATED_STORED)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("%s: the generated column \"%s\" is not stored", guard->function, guard->column),
                    errhint("Make the column GENERATED ALWAYS AS (...) STORED.")));
}

void set_threshold(Guard *guard, const char *threshold, const char *measure) {
  guard->measure =
      measure == nullptr ? Measure::jaccard : symmetric_measure_by_name(measure, guard->function);
  char *end;
  guard->threshold = std::strtod(threshold, &end);
  if (end == threshold || *end != '\0')
    raise_argument(guard->function, "threshold", psprintf("\"%s\"", threshold), "It is a number.");
  check_similarity(guard->threshold, guard->measure, guard->function);
}

// Sets the column of marks: a boolean, or one that takes the primary key of a similar row.
void set_mark(Guard *guard, Relation table, const char *column) {
  guard->mark_column = pstrdup(column);
  guard->mark = column_number(*guard, table, column);
  const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(table), guard->mark - 1);
  const AttrNumber key = key_column(table);
  guard->mark_type = attribute->atttypid;
  // Partitions may have primary keys that the table above them, on which a trigger is made, lacks.
  const bool parted = table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
  const bool fits = guard->mark_type == BOOLOID || parted ||
                    (key != InvalidAttrNumber &&
                     TupleDescAttr(RelationGetDescr(table), key - 1)->atttypid == guard->mark_type);
  if (fits && attribute->attgenerated == '\0') return;
  ereport(ERROR,
          (errcode(ERRCODE_DATATYPE_MISMATCH),
           errmsg("%s: the column \"%s\" cannot mark rows", guard->function, column),
           errhint("It is a plain column of type boolean, or of the type of the table's primary key, which "
                   "is a single column.")));
}

// Returns the table on which the trigger was made. A trigger on a partitioned table has a copy on each
// partition.
Oid scope_of(const TriggerData &data) {
  if (!data.tg_relation->rd_rel->relispartition) return RelationGetRelid(data.tg_relation);
  Relation triggers = table_open(TriggerRelationId, AccessShareLock);
  Oid scope = RelationGetRelid(data.tg_relation);
  for (Oid trigger = data.tg_trigger->tgoid; OidIsValid(trigger);) {
    ScanKeyData key;
    ScanKeyInit(&key, Anum_pg_trigger_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(trigger));
    SysScanDesc scan = systable_beginscan(triggers, TriggerOidIndexId, true, nullptr, 1, &key);
    HeapTuple tuple = systable_getnext(scan);
    trigger = InvalidOid;
    if (HeapTupleIsValid(tuple)) {
      const auto *form = reinterpret_cast<Form_pg_trigger>(GETSTRUCT(tuple));
      scope = form->tgrelid;
      trigger = form->tgparentid;
    }
    systable_endscan(scan);
  }
  table_close(triggers, AccessShareLock);
  return scope;
}

// Prepares the expression of a generated column, in the current memory context.
void set_expression(Guard *guard, Relation table) {
  if (TupleDescAttr(RelationGetDescr(table), guard->number - 1)->attgenerated == '\0') return;
  guard->state = CreateExecutorState();
  auto *expression = reinterpret_cast<Expr *>(build_column_default(table, guard->number));
  guard->computes = ExecPrepareExpr(expression, guard->state);
}

// Returns an argument of the trigger, nullptr where it has none of this number.
const char *trigger_argument(const TriggerArguments &arguments, int number) {
  return number >= 0 && number < arguments.count ? arguments.values[number] : nullptr;
}

// Makes the guard in the current memory context, which is the statement's.
Guard *make_guard(const TriggerData &data, GuardAction action) {
  const Trigger &trigger = *data.tg_trigger;
  Guard *guard = read_arguments(action, data.tg_relation, {trigger.tgname, trigger.tgnargs, trigger.tgargs});
  check_is_plain(data.tg_relation, guard->function);
  guard->scope = scope_of(data);
  if (!parts_of(action).before) return guard;
  set_expression(guard, data.tg_relation);
  guard->statement = statement_of(data, CurrentMemoryContext);
  return guard;
}

}  // namespace

Guard *read_arguments(GuardAction action, Relation table, const TriggerArguments &arguments) {
  const ActionParts &parts = parts_of(action);
  auto *guard = static_cast<Guard *>(palloc0(sizeof(Guard)));
  guard->action = action;
  guard->function = parts.function;
  if (arguments.count < parts.required || arguments.count > parts.most)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s: the trigger \"%s\" has %d arguments", parts.function, arguments.trigger,
                           arguments.count),
                    errhint("%s", parts.hint)));
  guard->column = pstrdup(arguments.values[0]);
  set_type(guard, table);
  set_threshold(guard, arguments.values[1], trigger_argument(arguments, parts.measure));
  const char *mark = trigger_argument(arguments, parts.mark_column);
  if (mark != nullptr) set_mark(guard, table, mark);
  return guard;
}

AttrNumber set_column(const Guard &guard, Relation table) {
  const AttrNumber number = column_number(guard, table, guard.column);
  TokenType type;
  if (!token_type_of(TupleDescAttr(RelationGetDescr(table), number - 1)->atttypid, &type) ||
      type != guard.type)
    elog(ERROR, "%s: the column \"%s\" of \"%s\" is of another type", guard.function, guard.column,
         RelationGetRelationName(table));
  return number;
}

AttrNumber ignored_mark(const Guard &guard, Relation table) {
  if (guard.action != GuardAction::refuse || guard.mark == InvalidAttrNumber) return InvalidAttrNumber;
  return column_number(guard, table, guard.mark_column);
}

bool is_marked(const Guard &guard, AttrNumber mark, TupleTableSlot *row) {
  if (mark == InvalidAttrNumber) return false;
  bool isnull;
  const Datum value = slot_getattr(row, mark, &isnull);
  return !isnull && (guard.mark_type != BOOLOID || DatumGetBool(value));
}

void check_is_plain(Relation table, const char *function) {
  if (table->rd_rel->relkind == RELKIND_RELATION) return;
  ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                  errmsg("%s: \"%s\" is a foreign table", function, RelationGetRelationName(table)),
                  errdetail("The writers of its rows cannot be waited for."),
                  errhint("Among partitions, make the trigger on each one that is no foreign table.")));
}

Guard *guard_of(FunctionCallInfo fcinfo, GuardAction action) {
  check_event(fcinfo, parts_of(action));
  FmgrInfo *function = fcinfo->flinfo;
  if (function->fn_extra == nullptr) {
    MemoryContext old = MemoryContextSwitchTo(function->fn_mcxt);
    function->fn_extra = make_guard(*reinterpret_cast<TriggerData *>(fcinfo->context), action);
    MemoryContextSwitchTo(old);
  }
  return static_cast<Guard *>(function->fn_extra);
}

}  // namespace simjoin::pg
