#include "pg/dedup/parts.hpp"

extern "C" {
#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_type.h"
#include "commands/tablecmds.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
}

#include <cstring>
#include <span>

#include "pg/base/compat.hpp"
#include "pg/base/relation_names.hpp"

namespace simjoin::pg {
namespace {

struct PartColumn {
  const char *name;
  Oid type;  // InvalidOid: the type of the view's keys
};

// The shape of a part as create_dedup_view makes it.
struct PartShape {
  const char *what;
  char kind;
  std::span<const PartColumn> columns;  // empty: any columns
};

// The first ones are the columns of views of other kinds.
constexpr PartColumn row_columns[] = {{"id", INT8OID},
                                      {"fingerprint", UUIDOID},
                                      {"size", INT4OID},
                                      {"prefix", INT4ARRAYOID},
                                      {"key", InvalidOid}};
constexpr PartColumn weighted_row_columns[] = {
    {"id", INT8OID},          {"fingerprint", UUIDOID},   {"total", FLOAT8OID},
    {"prefix", INT4ARRAYOID}, {"masses", FLOAT8ARRAYOID}, {"key", InvalidOid}};
constexpr size_t tracked_weighted_row_columns = 5;
constexpr size_t untracked_row_columns = 2, tracked_row_columns = 4;
constexpr PartColumn key_row_columns[] = {{"id", INT8OID}, {"fingerprint", UUIDOID}, {"key", InvalidOid}};
constexpr PartColumn pair_columns[] = {{"a", INT8OID}, {"b", INT8OID}, {"similarity", FLOAT8OID}};
constexpr PartColumn change_columns[] = {{"first_id", INT8OID}, {"last_id", INT8OID}};
constexpr PartColumn key_change_columns[] = {{"key", InvalidOid}};
constexpr PartColumn order_columns[] = {
    {"rows", INT8OID}, {"ordered_rows", INT8OID}, {"frequent", INT4ARRAYOID}};
constexpr PartColumn entity_columns[] = {{"id", INT8OID}, {"entity_id", INT8OID}};
constexpr PartColumn judged_columns[] = {{"a", INT8OID}, {"b", INT8OID}, {"same", BOOLOID}};
constexpr PartColumn history_columns[] = {{"at", TIMESTAMPTZOID},
                                          {"event", TEXTOID},
                                          {"entity_id", INT8OID},
                                          {"to_entity_id", INT8OID},
                                          {"rows", INT8OID}};

constexpr PartShape source_shape = {"the query", RELKIND_VIEW, {}};
constexpr PartShape row_shape = {"the table of rows", RELKIND_RELATION,
                                 std::span(row_columns).first(untracked_row_columns)};
constexpr PartShape key_row_shape = {"the table of rows", RELKIND_RELATION, key_row_columns};
constexpr PartShape tracked_row_shape = {"the table of rows", RELKIND_RELATION,
                                         std::span(row_columns).first(tracked_row_columns)};
constexpr PartShape tracked_key_row_shape = {"the table of rows", RELKIND_RELATION, row_columns};
constexpr PartShape weighted_row_shape = {
    "the table of rows", RELKIND_RELATION,
    std::span(weighted_row_columns).first(tracked_weighted_row_columns)};
constexpr PartShape weighted_key_row_shape = {"the table of rows", RELKIND_RELATION, weighted_row_columns};
constexpr PartShape pair_shape = {"the table of pairs", RELKIND_RELATION, pair_columns};
constexpr PartShape change_shape = {"the table of changes", RELKIND_RELATION, change_columns};
constexpr PartShape key_change_shape = {"the table of changes", RELKIND_RELATION, key_change_columns};
constexpr PartShape order_shape = {"the table of the order", RELKIND_RELATION, order_columns};
constexpr PartShape entity_shape = {"the table of entities", RELKIND_RELATION, entity_columns};
constexpr PartShape history_shape = {"the history of entities", RELKIND_RELATION, history_columns};
constexpr PartShape verdict_shape = {"the query for verdicts", RELKIND_VIEW, {}};
constexpr PartShape judged_shape = {"the table of verdicts", RELKIND_RELATION, judged_columns};

// A part that the definition of its view names.
struct NamedPart {
  Oid relation;
  const PartShape *shape;
  LOCKMODE lock;  // of a refresh
  bool is_part;   // views of the definition's kind have it
};
constexpr size_t most_parts = 9;

const PartShape &shape_of_rows(const DedupDefinition &definition) {
  if (definition.tracked() && definition.has_weights())
    return definition.has_keys() ? weighted_key_row_shape : weighted_row_shape;
  if (definition.tracked()) return definition.has_keys() ? tracked_key_row_shape : tracked_row_shape;
  return definition.has_keys() ? key_row_shape : row_shape;
}

const PartShape &shape_of_changes(Oid key_type) {
  return OidIsValid(key_type) ? key_change_shape : change_shape;
}

// Calls body(part, place) for each part that a view of the definition's kind has, also where the definition
// names none. `place` is that of the part in OpenParts.
template <class Body>
void for_named_parts(const DedupDefinition &definition, Body &&body) {
  const bool tracked = definition.tracked(), entities = definition.has_entities(),
             judged = definition.has_verdicts();
  const NamedPart parts[most_parts] = {
      {definition.source, &source_shape, AccessShareLock, true},
      {definition.rows, &shape_of_rows(definition), ShareRowExclusiveLock, true},
      {definition.pairs, &pair_shape, RowExclusiveLock, true},
      {definition.changes, &shape_of_changes(definition.key_type), RowExclusiveLock, tracked},
      {definition.order, &order_shape, RowExclusiveLock, tracked},
      {definition.entities, &entity_shape, RowExclusiveLock, entities},
      {definition.history, &history_shape, RowExclusiveLock, entities},
      {definition.verdicts, &verdict_shape, AccessShareLock, judged},
      {definition.judged, &judged_shape, RowExclusiveLock, judged && tracked}};
  for (size_t place = 0; place < most_parts; ++place)
    if (parts[place].is_part) body(parts[place], place);
}

bool has_columns(TupleDesc descriptor, std::span<const PartColumn> columns, Oid key_type) {
  if (descriptor->natts != static_cast<int>(columns.size())) return false;
  for (int i = 0; i < descriptor->natts; ++i) {
    const FormData_pg_attribute *column = TupleDescAttr(descriptor, i);
    const Oid type = columns[i].type == InvalidOid ? key_type : columns[i].type;
    if (column->attisdropped || column->attgenerated != '\0' || column->attidentity != '\0' ||
        column->atttypid != type || std::strcmp(NameStr(column->attname), columns[i].name) != 0)
      return false;
  }
  return true;
}

// Returns whether only the relation's name, schema and rows have changed since it was made, or indexes and
// constraints were added. Rows written to it then reach it unchanged.
bool is_intact(Relation relation, const PartShape &shape, Oid key_type = InvalidOid) {
  const FormData_pg_class *form = relation->rd_rel;
  if (form->relkind != shape.kind) return false;
  if (shape.columns.empty()) return true;
  return form->relpersistence == RELPERSISTENCE_PERMANENT && !form->relispartition && !form->relrowsecurity &&
         relation->rd_rules == nullptr && relation->trigdesc == nullptr &&
         has_columns(RelationGetDescr(relation), shape.columns, key_type);
}

[[noreturn]] void raise_altered(Oid relation, const PartShape &shape) {
  ereport(ERROR,
          (errcode(ERRCODE_WRONG_OBJECT_TYPE),
           errmsg("%s is not %s of a dedup view", relation_name(relation), shape.what),
           errhint("The parts of a dedup view must not be changed. Drop the view and make it again.")));
  pg_unreachable();
}

[[noreturn]] void raise_altered_result(Oid view) {
  raise_altered(view, {"the result", RELKIND_MATVIEW, {}});
}

// The owner of a part, if the part and the view exist.
enum class Ownership : uint8_t { of_view, other, gone };

Ownership ownership_of(Oid relation, Oid view) {
  Oid owner, view_owner;
  if (!find_owner(relation, &owner) || !find_owner(view, &view_owner)) return Ownership::gone;
  return owner == view_owner ? Ownership::of_view : Ownership::other;
}

// Reports an error if the owner of the view does not own the part. Returns whether both exist.
bool check_owner(Oid relation, const PartShape &shape, Oid view) {
  const Ownership ownership = ownership_of(relation, view);
  if (ownership != Ownership::other) return ownership == Ownership::of_view;
  ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                  errmsg("the owner of the dedup view %s does not own %s, %s", relation_name(view),
                         relation_name(relation), shape.what),
                  errhint("Give it to the owner of the view with ALTER %s ... OWNER TO, or drop the view.",
                          shape.kind == RELKIND_VIEW ? "VIEW" : "TABLE")));
  pg_unreachable();
}

// Returns the view that the relation is recorded as a part of, or InvalidOid if there is none.
Oid recorded_view(Oid relation) {
  Relation depend = table_open(DependRelationId, AccessShareLock);
  ScanKeyData keys[2];
  ScanKeyInit(&keys[0], Anum_pg_depend_classid, BTEqualStrategyNumber, F_OIDEQ,
              ObjectIdGetDatum(RelationRelationId));
  ScanKeyInit(&keys[1], Anum_pg_depend_objid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
  SysScanDesc scan = systable_beginscan(depend, DependDependerIndexId, true, nullptr, 2, keys);
  Oid view = InvalidOid;
  for (HeapTuple tuple; HeapTupleIsValid(tuple = systable_getnext(scan));) {
    const auto *form = reinterpret_cast<Form_pg_depend>(GETSTRUCT(tuple));
    if (form->deptype == DEPENDENCY_EXTENSION && form->refclassid == RelationRelationId)
      view = form->refobjid;
  }
  systable_endscan(scan);
  table_close(depend, AccessShareLock);
  return view;
}

void record(Oid relation, Oid view) {
  const ObjectAddress part = {RelationRelationId, relation, 0}, whole = {RelationRelationId, view, 0};
  recordDependencyOn(&part, &whole, DEPENDENCY_EXTENSION);
  CommandCounterIncrement();
}

[[noreturn]] void raise_missing(const PartShape &shape, Oid view) {
  ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                  errmsg("%s of the dedup view %s is missing", shape.what, relation_name(view)),
                  errhint("Drop the view and make it again.")));
  pg_unreachable();
}

// Opens a part, and records it unless it is recorded.
Relation open_part(const NamedPart &part, const DedupDefinition &definition) {
  const PartShape &shape = *part.shape;
  const Oid view = definition.view;
  // The owner is checked before the lock, so that no user locks the relations of others.
  Relation relation =
      check_owner(part.relation, shape, view) ? try_relation_open(part.relation, part.lock) : nullptr;
  if (relation == nullptr || !check_owner(part.relation, shape, view)) raise_missing(shape, view);
  // A function that the query calls may get here during the refresh that called it.
  if (part.lock == ShareRowExclusiveLock) CheckTableNotInUse(relation, "REFRESH MATERIALIZED VIEW");
  if (!is_intact(relation, shape, definition.key_type)) raise_altered(part.relation, shape);
  const Oid recorded = recorded_view(part.relation);
  if (recorded == InvalidOid) {
    record(part.relation, view);
  } else if (recorded != view) {
    ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                    errmsg("%s is a part of the dedup view %s", relation_name(part.relation),
                           relation_name(recorded)),
                    errhint("Make dedup views with create_dedup_view.")));
  }
  return relation;
}

// Errors where the keys of a part, its last column, have not the collation of the ids of the query: the ids
// would be compared by that of the part. Ids of another type are an error of their reader.
void check_collation(const PartShape &shape, Relation relation, Relation source) {
  const TupleDesc columns = RelationGetDescr(relation), ids = RelationGetDescr(source);
  if (ids->natts == 0) return;
  const FormData_pg_attribute *key = TupleDescAttr(columns, columns->natts - 1), *id = TupleDescAttr(ids, 0);
  if (key->atttypid == id->atttypid && key->attcollation != id->attcollation)
    raise_altered(RelationGetRelid(relation), shape);
}

void check_isolation(bool waits_for_none) {
  if (!IsolationUsesXactSnapshot() || waits_for_none) return;
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("a dedup view cannot be refreshed in a transaction of isolation level REPEATABLE "
                         "READ or SERIALIZABLE"),
                  errhint("Refresh it in a transaction of isolation level READ COMMITTED.")));
}

}  // namespace

OpenParts open_parts(const DedupDefinition &definition) {
  Relation open[most_parts] = {};
  for_named_parts(definition,
                  [&](const NamedPart &part, size_t place) { open[place] = open_part(part, definition); });
  const OpenParts parts = {open[0], open[1], open[2], open[3], open[4], open[5], open[6], open[7], open[8]};
  if (definition.has_keys()) check_collation(shape_of_rows(definition), parts.rows, parts.source);
  if (definition.has_keys() && parts.changes != nullptr)
    check_collation(shape_of_changes(definition.key_type), parts.changes, parts.source);
  check_isolation(!definition.tracked() && parts.rows->rd_createSubid != InvalidSubTransactionId);
  PushActiveSnapshot(GetTransactionSnapshot());
  return parts;
}

void close_parts(const OpenParts &parts) {
  PopActiveSnapshot();
  for (Relation part : {parts.source, parts.rows, parts.pairs, parts.changes, parts.order, parts.entities,
                        parts.history, parts.verdicts, parts.judged})
    if (part != nullptr) relation_close(part, NoLock);
}

Relation open_changes(Oid view, Oid changes, Oid key_type) {
  const PartShape &shape = shape_of_changes(key_type);
  if (!check_owner(changes, shape, view)) return nullptr;
  Relation relation = try_relation_open(changes, RowExclusiveLock);
  if (relation == nullptr) return nullptr;
  if (!check_owner(changes, shape, view)) {
    relation_close(relation, NoLock);
    return nullptr;
  }
  if (!is_intact(relation, shape, key_type)) raise_altered(changes, shape);
  return relation;
}

void record_parts(const DedupDefinition &definition) {
  for_named_parts(definition, [&](const NamedPart &part, size_t) {
    const Ownership ownership = ownership_of(part.relation, definition.view);
    if (ownership == Ownership::gone) return;
    Oid recorded = recorded_view(part.relation);
    if (recorded == InvalidOid && ownership == Ownership::of_view) {
      Relation relation = relation_open(part.relation, AccessExclusiveLock);
      if (is_intact(relation, *part.shape, definition.key_type)) {
        recorded = definition.view;
        record(part.relation, recorded);
      }
      relation_close(relation, NoLock);
    }
    if (recorded != definition.view)
      ereport(NOTICE, (errmsg("%s is not %s of a dedup view, and is not dropped",
                              relation_name(part.relation), part.shape->what)));
  });
}

void check_view(Relation view, const DedupDefinition &definition) {
  if (view->rd_rel->relkind != RELKIND_MATVIEW) raise_altered_result(RelationGetRelid(view));
  check_result(RelationGetDescr(view), definition);
}

void check_result(TupleDesc columns, const DedupDefinition &definition) {
  const Oid id_type = definition.id_type();
  const Oid types[] = {id_type, id_type, BOOLOID, FLOAT8OID, INT8OID};  // the columns may be renamed
  bool intact = columns->natts == static_cast<int>(std::size(types)) - (definition.has_entities() ? 0 : 1);
  for (int i = 0; intact && i < columns->natts; ++i) intact = TupleDescAttr(columns, i)->atttypid == types[i];
  if (!intact) raise_altered_result(definition.view);
}

bool find_owner(Oid relation, Oid *owner) {
  HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
  if (!HeapTupleIsValid(tuple)) return false;
  *owner = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relowner;
  ReleaseSysCache(tuple);
  return true;
}

}  // namespace simjoin::pg
