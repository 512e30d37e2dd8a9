#include "pg/dedup/view_rows.hpp"

extern "C" {
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

#include <algorithm>

#include "pg/base/query_rows.hpp"
#include "pg/base/relation_names.hpp"
#include "pg/base/table_writer.hpp"
#include "pg/dedup/refresh.hpp"

namespace simjoin::pg {
namespace {

// How the view's rows differ from the new groups.
struct ViewUpdate {
  bool *met;      // for each row number, whether the view has a row of it
  bool *present;  // for each row of the grouping, whether the view has it unchanged
  GrowingArray<ItemPointerData> to_erase;
};

// Returns whether the view's row is as it should be.
bool is_as_wanted(const StoredGroup &group, const GroupRow &wanted) {
  return group.group_id == DatumGetInt64(wanted.values[1]) &&
         group.is_representative == DatumGetBool(wanted.values[2]) &&
         group.has_similarity != wanted.nulls[3] &&
         (wanted.nulls[3] || group.similarity == DatumGetFloat8(wanted.values[3]));
}

// Takes (ctid, id, group_id, is_representative, similarity) of the view.
void compare_view_row(const StoredRow &row, const Affected &affected, const RowGrouping &grouping,
                      ViewUpdate *update) {
  const StoredGroup group = stored_group(row);
  const uint32_t number = known_number_of(affected, group.id), place = affected.places[number];
  if (update->met[number]) raise_repeated_id(group.id, refresh_function);
  update->met[number] = true;
  if (place != no_place && is_as_wanted(group, group_row(grouping, place)))
    update->present[place] = true;
  else
    update->to_erase.append(group.place);
}

bool *allocate_unset(size_t count) {
  auto *flags = allocate<bool>(count);
  std::fill_n(flags, count, false);
  return flags;
}

// Returns the query for the rows of the view whose ids are in the array $1.
const char *some_rows_of_view(Relation view, const char *name) {
  const TupleDesc columns = RelationGetDescr(view);
  StringInfoData query;
  initStringInfo(&query);
  appendStringInfoString(&query, "SELECT ctid");
  for (int i = 0; i < columns->natts; ++i)
    appendStringInfo(&query, ", %s", quote_identifier(NameStr(TupleDescAttr(columns, i)->attname)));
  appendStringInfo(&query, " FROM %s WHERE %s OPERATOR(pg_catalog.=) ANY ($1)", name,
                   quote_identifier(NameStr(TupleDescAttr(columns, 0)->attname)));
  return query.data;
}

}  // namespace

void update_view(Relation view, const Affected &affected, const RowGrouping &grouping) {
  ViewUpdate update = {allocate_unset(affected.known), allocate_unset(grouping.rows),
                       GrowingArray<ItemPointerData>(CurrentMemoryContext)};
  const char *name = relation_name(RelationGetRelid(view));
  run_for_ids(some_rows_of_view(view, name), name, ids_of(affected), refresh_function,
              [&](const StoredRow &row) { compare_view_row(row, affected, grouping, &update); });
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
