// Ids that are no integers: the keys of a view's rows. The parts know a key by a number, which it keeps as
// long as the view has the key. The table of rows has both.
#include "pg/dedup/state.hpp"

#include <algorithm>

#include "pg/base/interruptible.hpp"
#include "pg/dedup/id_queries.hpp"

namespace simjoin::pg {
namespace {

// A key of the view's query, or of the last refresh.
struct KnownKey {
  int64 id;     // its number in the parts
  bool stored;  // the last refresh has stored the key
  bool met;     // a row of the query has it
};

// Adds the stored keys to those of the query, which stay what equal keys are shown as. Returns the numbers
// that stand for them in the parts.
GrowingArray<int64> add_stored_keys(const DedupState &state, bool noted_only) {
  GrowingArray<int64> ids(CurrentMemoryContext);
  const char *condition = noted_only ? is_noted_key(*state.definition, "x.key") : "true";
  run_over_part(psprintf("SELECT x.id, x.key FROM ONLY %s x WHERE %s", state.rows_table, condition),
                state.rows_table, state.function, [&](const StoredRow &row) {
                  const StoredKey stored = stored_key(row, state.definition->key_type);
                  add_key(state.keys, stored.key);
                  ids.append(stored.id);
                });
  return ids;
}

// Returns the keys by their places in the order. `places` are those of the stored ones.
KnownKey *known_keys(const DedupState &state, IdList stored, const int64 *places, size_t most) {
  auto *keys = allocate<KnownKey>(most);
  std::fill_n(keys, most, KnownKey{});
  InterruptCounter interrupts;
  for (size_t i = 0; i < stored.size(); ++i) {
    interrupts.add(10);
    if (keys[places[i]].stored) raise_damaged(state.rows_table);
    keys[places[i]] = {stored[i], true, false};
  }
  return keys;
}

// Returns the largest number of a key in the parts, at least 0.
int64 last_number(const DedupState &state) {
  int64 last = 0;
  run_over_part(psprintf("SELECT id FROM ONLY %s ORDER BY id DESC LIMIT 1", state.rows_table),
                state.rows_table, state.function,
                [&](const StoredRow &row) { last = std::max(last, stored_id(row)); });
  return last;
}

}  // namespace

GrowingArray<int64> number_rows_by_key(DedupState *state, bool noted_only) {
  const size_t rows = state->count();
  const auto stored = add_stored_keys(*state, noted_only);
  const size_t all = rows + stored.size();
  state->places = allocate_in<int64>(state->context, all);
  number_keys(state->keys, state->places);
  KnownKey *keys = known_keys(*state, {stored.data(), stored.size()}, state->places + rows, all);
  int64 last = last_number(*state);
  if (last > PG_INT64_MAX - static_cast<int64>(rows)) raise_damaged(state->rows_table);
  InterruptCounter interrupts;
  for (size_t row = 0; row < rows; ++row) {
    interrupts.add(10);
    KnownKey &key = keys[state->places[row]];
    if (key.met) raise_repeated_key(key_text(state->keys, state->places[row]), state->function);
    key.met = true;
    if (!key.stored) key.id = ++last;
    state->rows[row].id = key.id;
  }
  pfree(keys);
  return stored;
}

}  // namespace simjoin::pg
