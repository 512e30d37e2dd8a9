#include "pg/dedup/keys.hpp"

#include <algorithm>

#include "pg/base/interruptible.hpp"

namespace simjoin::pg {
namespace {

// A key of the view's query, or of the last refresh.
struct KnownKey {
  int64 id;     // the number that stands for it in the parts
  bool stored;  // the last refresh has stored the key
  bool met;     // a row of the query has it
};

// Adds the stored keys to those of the query, which stay what equal keys are shown as. Returns the numbers
// that stand for them in the parts.
GrowingArray<int64> add_stored_keys(const DedupState &state) {
  GrowingArray<int64> ids(CurrentMemoryContext);
  run_over_part(psprintf("SELECT id, key FROM ONLY %s", state.rows_table), state.rows_table, state.function,
                [&](const StoredRow &row) {
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

}  // namespace

void number_rows_by_key(DedupState *state) {
  const size_t rows = state->count();
  const auto stored = add_stored_keys(*state);
  const size_t all = rows + stored.size();
  state->places = allocate_in<int64>(state->context, all);
  number_keys(state->keys, state->places);
  KnownKey *keys = known_keys(*state, {stored.data(), stored.size()}, state->places + rows, all);
  int64 last = 0;
  for (const int64 id : stored) last = std::max(last, id);
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
}

}  // namespace simjoin::pg
