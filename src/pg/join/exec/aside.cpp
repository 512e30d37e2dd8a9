#include "pg/join/exec/aside.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "optimizer/optimizer.h"
}

#include "pg/base/interrupts.hpp"
#include "pg/join/exec/scan_tuple.hpp"

namespace simjoin::pg {
namespace {

// The memory for rows set aside: it holds the numbers of some thousands. The rest goes to a file.
constexpr size_t aside_memory = size_t{64} << 10;

// The slots of a bitmap of keys, which is looked at before pairs are. Its 32 kB tell some ten thousand keys
// apart, mostly.
constexpr uint32_t key_slots = 1U << 18;

enum AsideColumn : AttrNumber {
  aside_row = 1,
  aside_slot,
  aside_dimensions,
  aside_kind,  // of the flaw of its weights, and what that consists of
  aside_number,
  aside_tokens,
  aside_weight,
  aside_columns = aside_weight
};

struct RowAside {
  uint32_t row;
  uint32_t slot;  // the slot of its keys
  RowFlaw flaw;
};

uint32_t key_slot(uint64_t partition) {
  return static_cast<uint32_t>(partition % key_slots);
}

RowAside read_row_aside(JoinInput *input, uint32_t number) {
  Datum values[aside_columns];
  bool nulls[aside_columns];
  read_row(&input->aside, number, values, nulls);
  const auto number_of = [&](AsideColumn column) { return DatumGetInt32(values[column - 1]); };
  return {static_cast<uint32_t>(number_of(aside_row)),
          static_cast<uint32_t>(number_of(aside_slot)),
          {number_of(aside_dimensions),
           {static_cast<WeightFlaw::Kind>(number_of(aside_kind)), number_of(aside_number),
            static_cast<uint32_t>(number_of(aside_tokens)), DatumGetFloat4(values[aside_weight - 1])}}};
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

bool quals_hold(JoinState *state, ExprState *quals, uint32_t left, uint32_t right) {
  if (quals == nullptr) return true;
  ExprContext *context = state->css.ss.ps.ps_ExprContext;
  ResetExprContext(context);
  fill_scan_tuple(state, {left, right, unknown_overlap});
  return ExecQual(quals, context);
}

// Returns whether a row of the side meets the conditions on that side alone.
bool meets_own_conditions(JoinState *state, Side side, uint32_t row) {
  const bool is_left = side == Side::left;
  return quals_hold(state, state->aside.own[is_left ? 0 : 1], is_left ? row : no_row, is_left ? no_row : row);
}

// Returns whether a row of the side meets the other conditions with a row of the other side.
bool meets_conditions_with(JoinState *state, Side side, uint32_t row, uint32_t partner) {
  const bool is_left = side == Side::left;
  const uint32_t left = is_left ? row : partner, right = is_left ? partner : row;
  return quals_hold(state, state->aside.own[is_left ? 1 : 0], left, right) &&
         quals_hold(state, state->aside.pair, left, right);
}

// Returns the first row of the other side, from `partner` on, that has a set and meets the conditions with
// the row, or else no_row. Only pairs that a nested loop would evaluate count.
uint32_t next_met(JoinState *state, Side side, const RowAside &aside, bool unmatched_only,
                  uint32_t partner = 0) {
  const JoinInput &other = state->inputs[opposite(side)];
  if (state->inputs.key_count > 0 && !has_row(other.key_slots, aside.slot)) return no_row;
  if (!meets_own_conditions(state, side, aside.row)) return no_row;
  for (; partner < other.row_count; ++partner) {
    check_interrupts();
    if (has_row(other.without_set, partner) || (unmatched_only && has_row(other.matched, partner))) continue;
    if (meets_conditions_with(state, side, aside.row, partner)) return partner;
  }
  return no_row;
}

void check_side(JoinState *state, Side side, bool unmatched_only) {
  JoinInput *input = &state->inputs[side];
  if (input->aside.store == nullptr) return;
  for (uint32_t number = 0; number < input->aside.store->rows; ++number) {
    check_interrupts();
    const RowAside aside = read_row_aside(input, number);
    if (next_met(state, side, aside, unmatched_only) != no_row) raise_flaw(state, aside.flaw);
  }
}

// Raises the error of a row of the small side that meets the conditions with the current row of the stream.
void check_small_asides(JoinState *state, uint64_t partition) {
  const Side small = opposite(state->stream.side);
  JoinInput *input = &state->inputs[small];
  for (uint32_t i = 0; i < state->stream.aside_count; ++i) {
    check_interrupts();
    const RowAside aside = read_row_aside(input, state->stream.asides[i]);
    if (state->inputs.key_count > 0 && aside.slot != key_slot(partition)) continue;
    if (meets_conditions_with(state, small, aside.row, 0)) raise_flaw(state, aside.flaw);
  }
}

// Notes which left rows without a partner would meet the right row of a stream.
void note_flaw(JoinState *state, const RowAside &aside) {
  const JoinInput &left = state->inputs[Side::left];
  for (uint32_t row = 0; (row = next_met(state, Side::right, aside, true, row)) != no_row; ++row) {
    if (state->stream.flaws == nullptr)
      state->stream.flaws = static_cast<uint8_t *>(MemoryContextAllocZero(state->context, left.row_count));
    if (state->stream.flaws[row] == 0) state->stream.flaws[row] = static_cast<uint8_t>(aside.flaw.dimensions);
  }
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
  for (int side = 0; side < 2; ++side)
    state->aside.own[side] = ExecInitQual(one_sided[side], &state->css.ss.ps);
  state->aside.pair = ExecInitQual(others, &state->css.ss.ps);
}

void note_keys(JoinState *state, JoinInput *input, uint64_t partition) {
  if (state->inputs.key_count == 0) return;
  reserve_rows(state->context, &input->key_slots, key_slots - 1);
  set_row(&input->key_slots, key_slot(partition));
}

bool may_have_keys(const JoinState *state, const JoinInput &input, uint64_t partition) {
  return state->inputs.key_count == 0 || has_row(input.key_slots, key_slot(partition));
}

void set_aside(JoinState *state, JoinInput *input, uint64_t partition, const RowFlaw &flaw) {
  if (input->aside.store == nullptr) {
    MemoryContext old = MemoryContextSwitchTo(state->context);
    TupleDesc descriptor = CreateTemplateTupleDesc(aside_columns);
    for (int column = aside_row; column <= aside_columns; ++column)
      TupleDescInitEntry(descriptor, static_cast<AttrNumber>(column), "number",
                         column == aside_weight ? FLOAT4OID : INT4OID, -1, 0);
    MemoryContextSwitchTo(old);
    input->aside.store = create_row_store(state->context, descriptor, aside_memory);
  }
  Datum values[aside_columns] = {Int32GetDatum(static_cast<int32>(input->row_count)),
                                 Int32GetDatum(static_cast<int32>(key_slot(partition))),
                                 Int32GetDatum(flaw.dimensions),
                                 Int32GetDatum(static_cast<int32>(flaw.weights.kind)),
                                 Int32GetDatum(flaw.weights.number),
                                 Int32GetDatum(static_cast<int32>(flaw.weights.tokens)),
                                 Float4GetDatum(flaw.weights.weight)};
  bool nulls[aside_columns] = {};
  append_row(input->aside.store, values, nulls);
}

void check_rows_aside(JoinState *state) {
  check_side(state, Side::left, false);
  if (!state->facts.asks_for_existence()) check_side(state, Side::right, false);
}

void check_unmatched_left(JoinState *state) {
  if (state->facts.asks_for_existence()) check_side(state, Side::right, true);
}

void begin_asides(JoinState *state) {
  RowStream *stream = &state->stream;
  const Side small = opposite(stream->side);
  JoinInput *input = &state->inputs[small];
  if (input->aside.store == nullptr) return;
  const uint32_t rows = input->aside.store->rows;
  stream->asides = static_cast<uint32_t *>(MemoryContextAlloc(state->context, sizeof(uint32_t) * rows));
  for (uint32_t number = 0; number < rows; ++number) {
    check_interrupts();
    if (meets_own_conditions(state, small, read_row_aside(input, number).row))
      stream->asides[stream->aside_count++] = number;
  }
}

void check_streamed_row(JoinState *state, uint64_t partition, int flaw) {
  const Side side = state->stream.side;
  const bool right_waits = state->facts.asks_for_existence();
  if (flaw > 0) {
    const RowAside aside = {0, key_slot(partition), {flaw, {}}};
    if (side == Side::right && right_waits) {
      note_flaw(state, aside);
    } else if (next_met(state, side, aside, false) != no_row) {
      raise_flawed(clause_function(state->facts), flaw);
    }
  }
  if (side == Side::right || !right_waits) check_small_asides(state, partition);
}

void check_unmatched_streamed_left(JoinState *state, uint64_t partition) {
  if (state->facts.asks_for_existence()) check_small_asides(state, partition);
}

void check_flaws_met(JoinState *state) {
  if (state->stream.flaws == nullptr) return;
  const JoinInput &left = state->inputs[Side::left];
  for (uint32_t row = 0; row < left.row_count; ++row)
    if (state->stream.flaws[row] > 0 && !has_row(left.matched, row))
      raise_flawed(clause_function(state->facts), state->stream.flaws[row]);
}

}  // namespace simjoin::pg
