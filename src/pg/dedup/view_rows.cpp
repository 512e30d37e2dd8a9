#include "pg/dedup/view_rows.hpp"

extern "C" {
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

#include <algorithm>

#include "pg/base/relation_names.hpp"
#include "pg/dedup/id_queries.hpp"
#include "pg/dedup/refresh.hpp"
#include "pg/query/query_rows.hpp"
#include "pg/query/table_writer.hpp"

namespace simjoin::pg {
namespace {

// How the view's rows differ from the new groups.
struct ViewUpdate {
  bool *met;      // for each row number, whether the view has a row of it
  bool *present;  // for each row of the grouping, whether the view has it unchanged
  GrowingArray<ItemPointerData> to_erase;
  Oid id_type;
  int16 length;  // of id_type, as in pg_type
  bool by_value;
  bool has_entities;
};

// Returns whether the view's row is as it should be, to the last bit: equal keys may look different.
bool is_as_wanted(const StoredGroup &group, const GroupRow &wanted, const ViewUpdate &update) {
  return datum_image_eq(group.id, wanted.values[0], update.by_value, update.length) &&
         datum_image_eq(group.group_id, wanted.values[1], update.by_value, update.length) &&
         group.is_representative == DatumGetBool(wanted.values[2]) &&
         group.has_similarity != wanted.nulls[3] &&
         (wanted.nulls[3] || group.similarity == DatumGetFloat8(wanted.values[3])) &&
         (!update.has_entities || group.entity == DatumGetInt64(wanted.values[4]));
}

// Takes (ctid, number, id, group_id, is_representative, similarity, entity_id) of the view, the last if it
// has it.
void compare_view_row(const StoredRow &row, const Affected &affected, const RowGrouping &grouping,
                      ViewUpdate *update) {
  const StoredGroup group = stored_group(row, update->id_type, update->has_entities);
  const uint32_t number = known_number_of(affected, group.number), place = affected.places[number];
  if (update->met[number]) raise_repeated_id(group.number, refresh_function);
  update->met[number] = true;
  if (place != no_place && is_as_wanted(group, group_row(grouping, place), *update))
    update->present[place] = true;
  else
    update->to_erase.append(group.place);
}

bool *allocate_unset(size_t count) {
  auto *flags = allocate<bool>(count);
  std::fill_n(flags, count, false);
  return flags;
}

// Returns the query for the rows of the view for whose ids the numbers in the array $1 stand.
const char *some_rows_of_view(Relation view, const DedupDefinition &definition, const char *name) {
  const TupleDesc columns = RelationGetDescr(view);
  const char *id = psprintf("x.%s", quote_identifier(NameStr(TupleDescAttr(columns, 0)->attname)));
  StringInfoData query;
  initStringInfo(&query);
  appendStringInfo(&query, "SELECT x.ctid, %s", number_of(definition, id));
  for (int i = 0; i < columns->natts; ++i)
    appendStringInfo(&query, ", x.%s", quote_identifier(NameStr(TupleDescAttr(columns, i)->attname)));
  appendStringInfo(&query, " FROM %s x WHERE %s", name, is_of_numbers(definition, id));
  return query.data;
}

}  // namespace

void update_view(Relation view, const DedupDefinition &definition, const Affected &affected,
                 const RowGrouping &grouping) {
  ViewUpdate update = {allocate_unset(affected.known),
                       allocate_unset(grouping.rows),
                       GrowingArray<ItemPointerData>(CurrentMemoryContext),
                       definition.id_type(),
                       0,
                       false,
                       definition.has_entities()};
  get_typlenbyval(update.id_type, &update.length, &update.by_value);
  const char *name = relation_name(RelationGetRelid(view));
  run_for_ids(
      some_rows_of_view(view, definition, name), name, ids_of(affected), refresh_function,
      [&](const StoredRow &row) { compare_view_row(row, affected, grouping, &update); },
      definition.has_keys() ? keys_at_once : ids_at_once);
  TableWriter *writer = open_writer(view);
  for (ItemPointerData &row : update.to_erase)
    if (!erase_row(writer, &row, GetActiveSnapshot())) raise_damaged(name);
  for (size_t row = 0; row < grouping.rows; ++row) {
    if (update.present[row]) continue;
    const GroupRow columns = group_row(grouping, row);
    write_row(writer, columns.values, columns.nulls);
  }
  close_writer(writer);
}

}  // namespace simjoin::pg
