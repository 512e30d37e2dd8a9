#include "pg/join/exec/stream.hpp"

extern "C" {
#include "executor/executor.h"
}

#include "pg/base/errors.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/computation/steps.hpp"
#include "pg/computation/watch.hpp"
#include "pg/join/exec/aside.hpp"
#include "pg/join/exec/inputs.hpp"
#include "pg/join/exec/row_set.hpp"
#include "pg/join/exec/scan_tuple.hpp"

namespace simjoin::pg {
namespace {

JoinInput *streamed_input(JoinState *state) {
  return &state->inputs[state->stream.side];
}

// Returns whether the join asks which rows of a small left side have a partner.
bool asks_for_small_rows(const JoinState *state) {
  return state->facts.asks_for_existence() && state->stream.side == Side::right;
}

uint32_t rows_with_set(const JoinInput &input) {
  uint32_t rows = 0;
  for (uint32_t row = 0; row < input.row_count; ++row) rows += !has_row(input.without_set, row);
  return rows;
}

// Makes the next row the current one of the streamed side. Returns false at the end, or if no row can have a
// pair that is asked for.
bool fetch_row(JoinState *state) {
  JoinInput *input = streamed_input(state);
  if (asks_for_small_rows(state) && state->stream.wanting == 0) return false;
  input->slot = state->stream.first != nullptr ? state->stream.first : next_row(input);
  state->stream.first = nullptr;
  return input->slot != nullptr;
}

}  // namespace

void begin_stream(JoinState *state, Side side, TupleTableSlot *first) {
  state->stream = {};
  state->stream.side = side;
  state->stream.first = first;
  if (asks_for_small_rows(state)) state->stream.wanting = rows_with_set(state->inputs[Side::left]);
  streamed_input(state)->row_count = 1;  // at a time
  for (JoinInput &input : state->inputs.sides) input.current_row = no_row;
  note_step(state->engine.join, StepResult::working, 0);
}

bool streams(const JoinState *state, Side side) {
  return state->engine.streamed && state->stream.side == side;
}

bool next_streamed_row(JoinState *state) {
  RowStream *stream = &state->stream;
  JoinInput *input = streamed_input(state);
  if (!fetch_row(state)) {
    note_step(state->engine.join, StepResult::done, 0);
    return false;
  }
  stream->open = true;
  input->slot_matched = false;
  input->current_row = no_row;
  state->engine.batch->clear();
  state->engine.batch_position = 0;

  ExprContext *context = state->css.ss.ps.ps_ExprContext;
  ResetExprContext(context);
  MemoryContext old = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
  const RowSet set = set_of_row(state, stream->side, input->slot);
  if (set.joins && set.flaw.none()) {
    feed_set_of_row(state, stream->side, set);
  } else {
    feed_empty_set(state->engine.join, stream->side, state->facts.token_type);
  }
  MemoryContextSwitchTo(old);
  note_row(state->engine.join);
  check_streamed_row(state, set);
  return true;
}

bool next_streamed_batch(JoinState *state) {
  StreamedJoin *engine = streamed_join(state);
  while (engine->has_more()) {
    check_interrupts();
    const StepResult result = call_cpp([&] { return engine->step(step_budget, *state->engine.batch); });
    if (result != StepResult::batch) continue;
    note_step(state->engine.join, result, state->engine.batch->size());
    return true;
  }
  return false;
}

bool streamed_row_is_done(const JoinState *state) {
  const JoinInput &left = state->inputs[Side::left];
  return left.slot != nullptr && left.slot_matched && state->facts.asks_for_existence();
}

bool end_streamed_row(JoinState *state) {
  RowStream *stream = &state->stream;
  if (!stream->open) return false;
  stream->open = false;
  if (streamed_input(state)->slot_matched) return false;
  check_unmatched_streamed_row(state);
  if (!state->facts.keeps_unmatched(stream->side)) return false;
  ResetExprContext(state->css.ss.ps.ps_ExprContext);
  fill_scan_tuple(state, stream->side == Side::left ? JoinPair{0, no_row, 0} : JoinPair{no_row, 0, 0});
  return true;
}

}  // namespace simjoin::pg
