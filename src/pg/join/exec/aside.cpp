#include "pg/join/exec/aside.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "optimizer/optimizer.h"
}

#include "pg/base/interrupts.hpp"
#include "pg/join/exec/scan_tuple.hpp"
#include "pg/rows/row_store.hpp"

namespace simjoin::pg {

// A row set aside.
struct FlawedRow {
  uint64_t partition;  // the hash of its keys
  uint32_t row;
  RowFlaw flaw;
};

// It is stored as columns of numbers, since a store packs those.
constexpr int words = sizeof(FlawedRow) / sizeof(Datum);
static_assert(sizeof(FlawedRow) == words * sizeof(Datum));

// What an execution has set aside.
struct RowsAside {
  RowReader rows[2];  // FlawedRows, by side; with read_once all are left. A store is NULL where no row is
  // Where one side streams: the places of the small side's rows, but those that do not meet the conditions on
  // that side alone.
  uint32_t *places;
  uint32_t place_count;
  // In a semi or anti join whose right side streams: for each left row, the dimensions of the first right row
  // that is no set and meets the left row's other conditions; 0 where none does. NULL where all are 0.
  uint8_t *flaws;
  // The current row of the stream is checked once it is known to have no partner. This is its hash of keys.
  bool waits;
  uint64_t partition;
};

struct JoinAside {
  // The join's conditions without the similarity: those on one side, by side, and the others.
  ExprState *own_quals[2];
  ExprState *pair_quals;
  RowsAside now;
};

namespace {

// The memory for rows set aside: it holds the numbers of some thousands. The rest goes to a file.
constexpr size_t aside_memory = size_t{64} << 10;

RowReader *rows_aside(JoinState *state, Side side) {
  return &state->aside->now.rows[state->facts.read_once ? 0 : static_cast<int>(side)];
}

uint32_t count_aside(JoinState *state, Side side) {
  const RowStore *store = rows_aside(state, side)->store;
  return store == nullptr ? 0 : store->rows;
}

FlawedRow row_aside(JoinState *state, Side side, uint32_t place) {
  Datum values[words];
  bool nulls[words];
  read_row(rows_aside(state, side), place, values, nulls);
  FlawedRow row;
  memcpy(&row, values, sizeof row);
  return row;
}

[[noreturn]] void raise_flaw(const JoinState *state, const RowFlaw &flaw) {
  const char *function = clause_function(state->facts);
  if (flaw.dimensions == 0) raise_weight_flaw(function, flaw.weights);
  raise_flawed(function, flaw.dimensions);
}

// Returns whether the columns of the scan tuple that an expression mentions have this source.
bool mentions(const JoinState *state, Node *expr, ColumnSource source) {
  Bitmapset *attributes = nullptr;
  pull_varattnos(expr, INDEX_VAR, &attributes);
  for (int member = -1; (member = bms_next_member(attributes, member)) >= 0;)
    if (state->columns[member + FirstLowInvalidHeapAttributeNumber - 1].source == source) return true;
  return false;
}

// Returns whether a row of the side meets conditions with a row of the other side, or no_row.
bool quals_hold(JoinState *state, ExprState *quals, Side side, uint32_t row, uint32_t partner) {
  if (quals == nullptr) return true;
  ExprContext *context = state->css.ss.ps.ps_ExprContext;
  ResetExprContext(context);
  fill_scan_tuple(state, side == Side::left ? JoinPair{row, partner, unknown_overlap}
                                            : JoinPair{partner, row, unknown_overlap});
  return ExecQual(quals, context);
}

bool meets_own_conditions(JoinState *state, Side side, uint32_t row) {
  return quals_hold(state, state->aside->own_quals[static_cast<int>(side)], side, row, no_row);
}

// Returns whether a row of the side meets the other conditions with a row of the other side.
bool meets_conditions_with(JoinState *state, Side side, uint32_t row, uint32_t partner) {
  const JoinAside &aside = *state->aside;
  return quals_hold(state, aside.own_quals[static_cast<int>(opposite(side))], side, row, partner) &&
         quals_hold(state, aside.pair_quals, side, row, partner);
}

// Returns the first row of the other side, from `partner` on, that has a set and meets the conditions with
// the row, or else no_row.
uint32_t next_met(JoinState *state, Side side, const FlawedRow &flawed, bool unmatched_only,
                  uint32_t partner = 0) {
  const JoinInput &other = state->inputs[opposite(side)];
  if (!may_have_keys(state, other, flawed.partition)) return no_row;
  if (!meets_own_conditions(state, side, flawed.row)) return no_row;
  for (; partner < other.row_count; ++partner) {
    check_interrupts();
    if (has_row(other.without_set, partner) || (unmatched_only && has_row(other.matched, partner))) continue;
    if (meets_conditions_with(state, side, flawed.row, partner)) return partner;
  }
  return no_row;
}

void check_side(JoinState *state, Side side, bool unmatched_only) {
  for (uint32_t place = 0; place < count_aside(state, side); ++place) {
    check_interrupts();
    const FlawedRow flawed = row_aside(state, side, place);
    if (next_met(state, side, flawed, unmatched_only) != no_row) raise_flaw(state, flawed.flaw);
  }
}

// Lists the rows of the small side that rows of the stream may meet.
void list_small_side(JoinState *state, Side small) {
  RowsAside *now = &state->aside->now;
  const uint32_t count = count_aside(state, small);
  if (count == 0) return;
  now->places = static_cast<uint32_t *>(MemoryContextAlloc(state->context, sizeof(uint32_t) * count));
  for (uint32_t place = 0; place < count; ++place) {
    check_interrupts();
    if (meets_own_conditions(state, small, row_aside(state, small, place).row))
      now->places[now->place_count++] = place;
  }
}

// Raises the error of a row of the small side that meets the conditions with the current row of the stream.
void check_small_side(JoinState *state) {
  const RowsAside &now = state->aside->now;
  const Side small = opposite(state->stream.side);
  for (uint32_t i = 0; i < now.place_count; ++i) {
    check_interrupts();
    const FlawedRow flawed = row_aside(state, small, now.places[i]);
    if (flawed.partition == now.partition && meets_conditions_with(state, small, flawed.row, 0))
      raise_flaw(state, flawed.flaw);
  }
}

// Notes which left rows without a partner would meet the right row of a stream.
void note_flaw(JoinState *state, const FlawedRow &flawed) {
  uint8_t **flaws = &state->aside->now.flaws;
  for (uint32_t row = 0; (row = next_met(state, Side::right, flawed, true, row)) != no_row; ++row) {
    if (*flaws == nullptr)
      *flaws =
          static_cast<uint8_t *>(MemoryContextAllocZero(state->context, state->inputs[Side::left].row_count));
    if ((*flaws)[row] == 0) (*flaws)[row] = static_cast<uint8_t>(flawed.flaw.dimensions);
  }
}

// Raises the error of a right row that has streamed and met the conditions with a left row without a partner.
void check_noted_flaws(JoinState *state) {
  const uint8_t *flaws = state->aside->now.flaws;
  if (flaws == nullptr) return;
  const JoinInput &left = state->inputs[Side::left];
  for (uint32_t row = 0; row < left.row_count; ++row)
    if (flaws[row] > 0 && !has_row(left.matched, row)) raise_flaw(state, {flaws[row], {}});
}

}  // namespace

// Conditions on the similarity are left out, since a nested loop that evaluates one of them raises the error.
// Conditions on one side are kept apart: with them, most rows that are no sets need no look at the other
// side.
void init_aside(JoinState *state, List *join_quals) {
  List *one_sided[2] = {NIL, NIL}, *others = NIL;
  ListCell *cell;
  foreach (cell, join_quals) {
    auto *qual = static_cast<Node *>(lfirst(cell));
    if (mentions(state, qual, ColumnSource::similarity)) continue;
    const bool left = mentions(state, qual, ColumnSource::left);
    const bool right = mentions(state, qual, ColumnSource::right);
    List **list = left == right ? &others : &one_sided[left ? 0 : 1];
    *list = lappend(*list, qual);
  }
  state->aside = static_cast<JoinAside *>(palloc0(sizeof(JoinAside)));
  for (int side = 0; side < 2; ++side)
    state->aside->own_quals[side] = ExecInitQual(one_sided[side], &state->css.ss.ps);
  state->aside->pair_quals = ExecInitQual(others, &state->css.ss.ps);
}

void set_aside(JoinState *state, Side side, const RowSet &set) {
  RowReader *rows = rows_aside(state, side);
  if (rows->store == nullptr) {
    MemoryContext old = MemoryContextSwitchTo(state->context);
    TupleDesc descriptor = CreateTemplateTupleDesc(words);
    for (AttrNumber i = 1; i <= words; ++i) TupleDescInitEntry(descriptor, i, "word", INT8OID, -1, 0);
    MemoryContextSwitchTo(old);
    rows->store = create_row_store(state->context, descriptor, aside_memory);
  }
  const FlawedRow flawed = {set.partition, state->inputs[side].row_count, set.flaw};
  Datum values[words];
  bool nulls[words] = {};
  memcpy(values, &flawed, sizeof flawed);
  append_row(rows->store, values, nulls);
}

void begin_aside(JoinState *state) {
  if (state->engine.streamed) return list_small_side(state, opposite(state->stream.side));
  check_side(state, Side::left, false);
  if (!state->facts.asks_for_existence()) check_side(state, Side::right, false);
}

void check_streamed_row(JoinState *state, const RowSet &set) {
  RowsAside *now = &state->aside->now;
  const Side side = state->stream.side;
  const bool existence = state->facts.asks_for_existence();
  now->waits = set.joins && existence && side == Side::left;
  if (!set.joins) return;
  now->partition = set.partition;
  if (!set.flaw.none()) {
    const FlawedRow flawed = {set.partition, 0, set.flaw};
    if (existence && side == Side::right) {
      note_flaw(state, flawed);
    } else if (next_met(state, side, flawed, false) != no_row) {
      raise_flaw(state, set.flaw);
    }
  }
  if (!now->waits) check_small_side(state);
}

void check_unmatched_streamed_row(JoinState *state) {
  if (state->aside->now.waits) check_small_side(state);
}

void end_aside(JoinState *state) {
  if (state->engine.streamed) {
    check_noted_flaws(state);
  } else if (state->facts.asks_for_existence()) {
    check_side(state, Side::right, true);
  }
}

void discard_aside(JoinState *state) {
  RowsAside *now = &state->aside->now;
  for (RowReader &rows : now->rows)
    if (rows.store != nullptr) close_row_store(rows.store);
  *now = {};
}

}  // namespace simjoin::pg
