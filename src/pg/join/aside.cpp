#include "pg/join/aside.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "optimizer/optimizer.h"
}

#include "pg/join/feed.hpp"
#include "pg/join/pairs.hpp"

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
  aside_columns = aside_dimensions
};

struct RowAside {
  uint32_t row;
  uint32_t slot;  // the slot of its keys
  int dimensions;
};

uint32_t key_slot(uint64_t partition) {
  return static_cast<uint32_t>(partition % key_slots);
}

RowAside read_row_aside(JoinInput *input, uint32_t number) {
  Datum values[aside_columns];
  bool nulls[aside_columns];
  read_row(&input->aside, number, values, nulls);
  return {static_cast<uint32_t>(DatumGetInt32(values[aside_row - 1])),
          static_cast<uint32_t>(DatumGetInt32(values[aside_slot - 1])),
          DatumGetInt32(values[aside_dimensions - 1])};
}

// Returns whether the columns of the scan tuple that an expression mentions have this source.
bool mentions(const JoinState *state, Node *expr, ColumnSource source) {
  Bitmapset *attributes = nullptr;
  pull_varattnos(expr, INDEX_VAR, &attributes);
  for (int member = -1; (member = bms_next_member(attributes, member)) >= 0;)
    if (state->columns[member + FirstLowInvalidHeapAttributeNumber - 1].source == source) return true;
  return false;
}

bool holds(JoinState *state, ExprState *quals, uint32_t left, uint32_t right) {
  if (quals == nullptr) return true;
  ExprContext *context = state->css.ss.ps.ps_ExprContext;
  ResetExprContext(context);
  fill_scan_tuple(state, {left, right, unknown_overlap});
  return ExecQual(quals, context);
}

// Returns whether a row meets the conditions with any row of the other side that has a set. Only pairs that a
// nested loop would evaluate count.
bool has_pair(JoinState *state, Side side, const RowAside &aside, bool unmatched_only) {
  const bool is_left = side == Side::left;
  const uint32_t row = aside.row;
  const JoinInput &other = state->inputs[is_left ? 1 : 0];
  if (state->key_count > 0 && !has_row(other.key_slots, aside.slot)) return false;
  if (!holds(state, state->aside_quals[is_left ? 0 : 1], is_left ? row : no_row, is_left ? no_row : row))
    return false;
  for (uint32_t partner = 0; partner < other.row_count; ++partner) {
    CHECK_FOR_INTERRUPTS();
    if (has_row(other.without_set, partner) || (unmatched_only && has_row(other.matched, partner))) continue;
    const uint32_t left = is_left ? row : partner, right = is_left ? partner : row;
    if (holds(state, state->aside_quals[is_left ? 1 : 0], left, right) &&
        holds(state, state->aside_pair_quals, left, right))
      return true;
  }
  return false;
}

void check_side(JoinState *state, Side side, bool unmatched_only) {
  JoinInput *input = &state->inputs[static_cast<int>(side)];
  if (input->aside.store == nullptr) return;
  for (uint32_t number = 0; number < input->aside.store->rows; ++number) {
    CHECK_FOR_INTERRUPTS();
    const RowAside aside = read_row_aside(input, number);
    if (has_pair(state, side, aside, unmatched_only))
      raise_flawed(clause_function(state->facts), aside.dimensions);
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
    state->aside_quals[side] = ExecInitQual(one_sided[side], &state->css.ss.ps);
  state->aside_pair_quals = ExecInitQual(others, &state->css.ss.ps);
}

void note_keys(JoinState *state, JoinInput *input, uint64_t partition) {
  if (state->key_count == 0) return;
  reserve_rows(state->context, &input->key_slots, key_slots - 1);
  set_row(&input->key_slots, key_slot(partition));
}

void set_aside(JoinState *state, JoinInput *input, uint64_t partition, int dimensions) {
  if (input->aside.store == nullptr) {
    MemoryContext old = MemoryContextSwitchTo(state->context);
    TupleDesc descriptor = CreateTemplateTupleDesc(aside_columns);
    TupleDescInitEntry(descriptor, aside_row, "row", INT4OID, -1, 0);
    TupleDescInitEntry(descriptor, aside_slot, "slot", INT4OID, -1, 0);
    TupleDescInitEntry(descriptor, aside_dimensions, "dimensions", INT4OID, -1, 0);
    MemoryContextSwitchTo(old);
    input->aside.store = create_row_store(state->context, descriptor, aside_memory);
  }
  Datum values[aside_columns] = {Int32GetDatum(static_cast<int32>(input->row_count)),
                                 Int32GetDatum(static_cast<int32>(key_slot(partition))),
                                 Int32GetDatum(dimensions)};
  bool nulls[aside_columns] = {};
  append_row(input->aside.store, values, nulls);
}

void check_rows_aside(JoinState *state) {
  check_side(state, Side::left, false);
  if (!asks_for_existence(state->facts.jointype)) check_side(state, Side::right, false);
}

void check_unmatched_left(JoinState *state) {
  if (asks_for_existence(state->facts.jointype)) check_side(state, Side::right, true);
}

}  // namespace simjoin::pg
