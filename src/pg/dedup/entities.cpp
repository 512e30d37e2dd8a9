#include "pg/dedup/entities.hpp"

extern "C" {
#include "access/xact.h"
#include "catalog/dependency.h"
#include "commands/sequence.h"
#include "utils/builtins.h"
#include "utils/rel.h"
}

#include <algorithm>
#include <memory>
#include <optional>

#include "core/dedup/entities.hpp"
#include "pg/base/computation_memory.hpp"
#include "pg/base/relation_names.hpp"
#include "pg/base/statements.hpp"
#include "pg/computation/background.hpp"
#include "pg/query/query_rows.hpp"
#include "pg/query/table_writer.hpp"

namespace simjoin::pg {
namespace {

// The entities of a grouping's rows, before and after.
struct EntityNaming {
  const DedupState *state;
  RowGrouping *grouping;
  const char *table;
  int64 *ids;                     // of each row, in the parts
  int64 *former;                  // of each row, its former entity
  GrowingArray<int64> removed;    // former entities of removed rows
  GrowingArray<int64> stale_ids;  // rows whose stored entities no longer hold
  int64 largest;                  // of the former entities
};

// What the core works with. A memory context owns the object.
struct EntityWork {
  std::optional<EntityResult> result;
};

EntityNaming start_naming(const DedupState &state, RowGrouping *grouping) {
  EntityNaming naming = {&state,
                         grouping,
                         relation_name(state.definition->entities),
                         allocate_in<int64>(state.context, grouping->rows),
                         allocate_in<int64>(state.context, grouping->rows),
                         GrowingArray<int64>(state.context),
                         GrowingArray<int64>(state.context),
                         0};
  std::fill_n(naming.former, grouping->rows, no_entity);
  return naming;
}

// Takes the entity of a row of the grouping, or of a removed row where `row` is no row of it.
void take_entity(EntityNaming *naming, const StoredEntity &stored, size_t row) {
  naming->largest = std::max(naming->largest, stored.entity);
  if (row >= naming->grouping->rows) {
    naming->removed.append(stored.entity);
    naming->stale_ids.append(stored.id);
    return;
  }
  if (naming->former[row] != no_entity) raise_damaged(naming->table);
  naming->former[row] = stored.entity;
}

// Returns the groups' entities. New ones are below 0.
const EntityResult &assign(const EntityNaming &naming) {
  GroupingWork *grouped = naming.grouping->work;
  MemoryContext context = naming.state->context;
  EntityWork *work = own(context, [] { return std::make_unique<EntityWork>(); });
  const size_t rows = naming.grouping->rows;
  const EntityRows input = {{grouped->result->representatives.data(), rows},
                            {naming.grouping->ids, rows},
                            {naming.former, rows},
                            {naming.removed.data(), naming.removed.size()}};
  run_interruptibly(context, [=](WorkerPool &pool) {
    work->result.emplace(assign_entities(input, grouped->memory, pool.stop()));
  });
  return *work->result;
}

// Returns the id that an entity of the core's result has.
int64 final_entity(int64 entity, int64 first_added) {
  return entity < 0 ? first_added - 1 - entity : entity;
}

[[noreturn]] void raise_altered_sequence(const char *table) {
  ereport(ERROR,
          (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
           errmsg("%s has not the sequence that gave its entities their ids", table),
           errhint("The parts of a dedup view must not be changed. Drop the view and make it again.")));
  pg_unreachable();
}

// Takes ids of the sequence for so many new entities. Returns the first.
int64 take_ids(const EntityNaming &naming, uint32 count) {
  if (count == 0) return 0;
  const List *sequences = getOwnedSequences(RelationGetRelid(naming.state->parts->entities));
  if (list_length(sequences) != 1) raise_altered_sequence(naming.table);
  const Oid sequence = linitial_oid(sequences);
  const int64 first = nextval_internal(sequence, false);
  if (first <= naming.largest || first > PG_INT64_MAX - int64{count}) raise_altered_sequence(naming.table);
  if (count > 1)
    DirectFunctionCall2(setval_oid, ObjectIdGetDatum(sequence), Int64GetDatum(first + count - 1));
  return first;
}

// Replaces what is stored of rows whose entity has changed.
void store_entities(EntityNaming *naming, const int64 *entities) {
  const DedupState &state = *naming->state;
  for (size_t row = 0; row < naming->grouping->rows; ++row)
    if (naming->former[row] != no_entity && naming->former[row] != entities[row])
      naming->stale_ids.append(naming->ids[row]);
  const char *removal =
      psprintf("DELETE FROM ONLY %s WHERE id OPERATOR(pg_catalog.=) ANY ($1)", naming->table);
  for_parts({naming->stale_ids.data(), naming->stale_ids.size()}, [&](ParamListInfo some) {
    execute_statement(removal, 1, &some->params[0].ptype, &some->params[0].value);
  });
  constexpr bool nulls[] = {false, false};
  TableWriter *writer = open_writer(state.parts->entities);
  for (size_t row = 0; row < naming->grouping->rows; ++row) {
    if (naming->former[row] == entities[row]) continue;
    const Datum values[] = {Int64GetDatum(naming->ids[row]), Int64GetDatum(entities[row])};
    write_row(writer, values, nulls);
  }
  close_writer(writer);
}

void store_changes(const EntityNaming &naming, const EntityResult &result, int64 first_added) {
  if (result.changes.empty()) return;
  const Datum now = TimestampTzGetDatum(GetCurrentTransactionStartTimestamp());
  Datum events[std::size(entity_event_names)];
  for (size_t i = 0; i < std::size(events); ++i)
    events[i] = PointerGetDatum(cstring_to_text(entity_event_names[i].data()));
  TableWriter *writer = open_writer(naming.state->parts->history);
  for (const EntityChange &change : result.changes) {
    const Datum values[] = {now, events[static_cast<int>(change.event)], Int64GetDatum(change.from),
                            Int64GetDatum(final_entity(change.to, first_added)), Int64GetDatum(change.rows)};
    const bool nulls[] = {false, false, false, change.event == EntityEvent::removal, false};
    write_row(writer, values, nulls);
  }
  close_writer(writer);
}

// Gives the grouping its entities, from the former ones, and stores them.
void finish_naming(EntityNaming *naming) {
  const EntityResult &result = assign(*naming);
  const int64 first_added = take_ids(*naming, result.added);
  auto *entities = allocate_in<int64>(naming->state->context, naming->grouping->rows);
  InterruptCounter interrupts;
  for (size_t row = 0; row < naming->grouping->rows; ++row) {
    interrupts.add(1);
    entities[row] = final_entity(result.of_rows[row], first_added);
  }
  naming->grouping->entities = entities;
  store_entities(naming, entities);
  store_changes(*naming, result, first_added);
}

}  // namespace

void name_entities(const DedupState &state, RowGrouping *grouping) {
  EntityNaming naming = start_naming(state, grouping);
  for (size_t row = 0; row < grouping->rows; ++row) naming.ids[row] = state.rows[row].id;
  run_over_part(psprintf("SELECT id, entity_id FROM ONLY %s", naming.table), naming.table, state.function,
                [&](const StoredRow &row) {
                  const StoredEntity stored = stored_entity(row);
                  const size_t number = call_cpp([&] { return state.numbers->numbers.number_of(stored.id); });
                  take_entity(&naming, stored, number);
                });
  finish_naming(&naming);
}

void name_entities(const DedupState &state, const Affected &affected, RowGrouping *grouping) {
  EntityNaming naming = start_naming(state, grouping);
  const IdList ids = ids_of(affected);
  for (size_t number = 0; number < affected.known; ++number)
    if (affected.places[number] != no_place) naming.ids[affected.places[number]] = ids[number];
  const char *query =
      psprintf("SELECT id, entity_id FROM ONLY %s WHERE id OPERATOR(pg_catalog.=) ANY ($1)", naming.table);
  run_for_ids(query, naming.table, ids, state.function, [&](const StoredRow &row) {
    const StoredEntity stored = stored_entity(row);
    const uint32_t place = affected.places[known_number_of(affected, stored.id)];
    take_entity(&naming, stored, place == no_place ? grouping->rows : place);
  });
  finish_naming(&naming);
}

}  // namespace simjoin::pg
