// The execution of the nodes NearestRows and SimilarRows.
#include "pg/base/pg.hpp"

extern "C" {
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"
}

#include <cmath>

#include "pg/base/arguments.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/scan_nodes.hpp"
#include "pg/computation/steps.hpp"
#include "pg/join/clause/threshold.hpp"
#include "pg/nearest/facts.hpp"
#include "pg/nearest/state.hpp"
#include "pg/nearest/texts.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {
namespace {

NearestRowsState *nearest_rows_state(CustomScanState *node) {
  return reinterpret_cast<NearestRowsState *>(node);
}

// Returns the conditions that do not mention the similarity, a column of the scan tuple.
List *without_similarity(const NearestRowsState *state, List *quals) {
  List *others = NIL;
  ListCell *cell;
  foreach (cell, quals) {
    Bitmapset *columns = nullptr;
    pull_varattnos(static_cast<Node *>(lfirst(cell)), INDEX_VAR, &columns);
    const int similarity = state->facts.columns + 1 - FirstLowInvalidHeapAttributeNumber;
    if (!bms_is_member(similarity, columns)) others = lappend(others, lfirst(cell));
  }
  return others;
}

void begin_nearest_rows(CustomScanState *node, EState *estate, int eflags) {
  NearestRowsState *state = nearest_rows_state(node);
  auto *plan = castNode(CustomScan, node->ss.ps.plan);
  state->facts = read_nearest_rows(plan);
  eflags &= ~(EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK);
  begin_inputs(node, estate, eflags);
  const auto init = [&](NearestRowsExpr expr) {
    return ExecInitExpr(nearest_rows_expr(plan, expr), &node->ss.ps);
  };
  state->probe = {init(NearestRowsExpr::probe), init(NearestRowsExpr::probe_weights)};
  state->set = {init(NearestRowsExpr::set), init(NearestRowsExpr::set_weights)};
  Expr *bound = nearest_rows_expr(plan, NearestRowsExpr::bound);
  state->bound = ExecInitExpr(bound, &node->ss.ps);
  state->bound_type = exprType(reinterpret_cast<Node *>(bound));
  Expr *value = nearest_rows_expr(plan, NearestRowsExpr::value);
  state->value = ExecInitExpr(value, &node->ss.ps);
  state->value_type = exprType(reinterpret_cast<Node *>(value));
  auto *keys_of_rows = reinterpret_cast<List *>(nearest_rows_expr(plan, NearestRowsExpr::keys_of_rows));
  auto *keys_of_outer = reinterpret_cast<List *>(nearest_rows_expr(plan, NearestRowsExpr::keys_of_outer));
  state->row_keys = init_key_side(keys_of_rows, nearest_key_functions(plan), 0, &node->ss.ps);
  state->outer_keys = init_key_side(keys_of_outer, nearest_key_functions(plan), 1, &node->ss.ps);
  state->other_quals = ExecInitQual(without_similarity(state, plan->scan.plan.qual), &node->ss.ps);
  state->descriptor = CreateTemplateTupleDesc(state->facts.columns);
  for (int column = 1; column <= state->facts.columns; ++column)
    TupleDescCopyEntry(state->descriptor, static_cast<AttrNumber>(column),
                       ExecGetResultType(nearest_input(state)), static_cast<AttrNumber>(column));
  state->context =
      AllocSetContextCreate(estate->es_query_cxt, "simjoin nearest rows", ALLOCSET_DEFAULT_SIZES);
}

// ---- The next row ----

Datum similarity_value(const NearestRowsState *state, uint32_t overlap, uint32_t left, uint32_t right) {
  const NearestRowsFacts &facts = state->facts;
  if (facts.single)
    return Float4GetDatum(static_cast<float4>(std::abs(facts.order().score(overlap, left, right))));
  if (facts.distance) return Float8GetDatum(jaccard_distance(overlap, left, right));
  if (facts.measure == Measure::overlap) return Int32GetDatum(static_cast<int32>(overlap));
  return Float8GetDatum(similarity(facts.measure, overlap, left, right));
}

// Gives the score and the value of a pair of the batch.
Datum value_of_pair(const NearestRowsState *state, size_t i, double *score) {
  RowSearch *join = state->rows.join;
  const Batch *batch = state->batch;
  if (state->facts.weighted) return Float8GetDatum(*score = batch->similarity[i]);
  const uint32_t left = join->set_size(Side::left, 0), right = join->set_size(Side::right, batch->right[i]);
  *score = state->facts.order().score(batch->overlap[i], left, right);
  return similarity_value(state, batch->overlap[i], left, right);
}

// Makes the next row of the key for which wanted(row) holds the scan tuple. Returns false at the end.
template <class Wanted>
bool next_row_of_key(NearestRowsState *state, Datum similarity, bool isnull, Wanted wanted) {
  const bool keyed = state->row_keys.count > 0;
  while (state->next_row < (keyed ? state->of_key.count : state->rows.count)) {
    check_interrupts();
    const uint32_t position = state->next_row++, row = keyed ? state->of_key.rows[position].row : position;
    if (!wanted(row)) continue;
    fill_kept_row(state, row, similarity, isnull);
    return true;
  }
  return false;
}

bool next_null(NearestRowsState *state) {
  // Rows whose array is no set do not meet the conditions.
  if (state->row_keys.count > 0 || state->facts.texts.used)
    return next_row_of_key(state, 0, true, [&](uint32_t row) {
      return has_row(state->rows.without_set, row) || is_null_for_empty(state, row);
    });
  const GrowingArray<uint32_t> &nulls = state->rows.nulls;
  if (state->next_row == nulls.size()) return false;
  fill_kept_row(state, nulls[state->next_row++], 0, true);
  return true;
}

bool next_pair(NearestRowsState *state) {
  RowSearch *join = state->rows.join;
  Batch *batch = state->batch;
  if (state->batch_position == batch->size()) {
    state->batch_position = 0;
    if (call_cpp([&] { return join->step(step_budget, *batch); }) == StepResult::done) return false;
  }
  const size_t i = state->batch_position++;
  const uint32_t row = batch->right[i];
  if (!state->facts.ordered) {
    fill_kept_row(state, row, 0, true);
    return true;
  }
  if (state->facts.texts.used) {
    fill_kept_row(state, row, 0, true);
    fill_value_of_text(state);
    return true;
  }
  double score;
  const Datum value = value_of_pair(state, i, &score);
  note_reached(state, score);
  fill_kept_row(state, row, value, false);
  return true;
}

// Copies the next row of the second child to the scan tuple. It has the columns that are handed up, and meets
// the conditions.
bool next_sorted(NearestRowsState *state) {
  TupleTableSlot *from = ExecProcNode(nearest_sorted(state)), *slot = state->css.ss.ss_ScanTupleSlot;
  ExecClearTuple(slot);
  if (TupIsNull(from)) return false;
  const auto output = static_cast<size_t>(state->facts.output),
             columns = static_cast<size_t>(state->facts.columns);
  slot_getsomeattrs(from, state->facts.output + state->facts.ordered);
  memset(slot->tts_isnull, true, sizeof(bool) * (columns + 1));
  memset(slot->tts_values, 0, sizeof(Datum) * (columns + 1));
  memcpy(slot->tts_values, from->tts_values, sizeof(Datum) * output);
  memcpy(slot->tts_isnull, from->tts_isnull, sizeof(bool) * output);
  if (state->facts.ordered) {
    slot->tts_values[columns] = from->tts_values[output];
    slot->tts_isnull[columns] = from->tts_isnull[output];
  }
  ExecStoreVirtualTuple(slot);
  return true;
}

// Makes the next row whose array is no set the scan tuple. The conditions raise its error.
bool next_flawed(NearestRowsState *state) {
  const GrowingArray<uint32_t> &flawed = state->rows.flawed;
  if (state->next_row == flawed.size()) return false;
  fill_kept_row(state, flawed[state->next_row++], 0, true);
  return true;
}

// Makes the next row of the phase the scan tuple. Returns false at the end of the phase.
bool next_of_phase(NearestRowsState *state) {
  const KeptRows &rows = state->rows;
  switch (state->phase) {
    case NearestPhase::begin:
    case NearestPhase::done:
      return false;
    case NearestPhase::first_nulls:
    case NearestPhase::last_nulls:
      return next_null(state);
    case NearestPhase::pairs:
      return next_pair(state);
    case NearestPhase::others:
      return next_row_of_key(state, similarity_value(state, 0, 1, 1), false, [&](uint32_t row) {
        return !has_row(rows.without_set, row) && !call_cpp([&] { return rows.join->shares_tokens(row); });
      });
    case NearestPhase::flawed:
      return next_flawed(state);
    case NearestPhase::all:
      return next_row_of_key(state, 0, true, [](uint32_t) { return true; });
    case NearestPhase::sorted:
      return next_sorted(state);
  }
  return false;
}

NearestPhase phase_after(NearestRowsState *state) {
  switch (state->phase) {
    case NearestPhase::begin:
      return begin_scan_of_rows(state);
    case NearestPhase::first_nulls:
      return NearestPhase::pairs;
    case NearestPhase::pairs:
      if (!state->facts.ordered) return NearestPhase::flawed;
      if (state->bounded) return NearestPhase::done;
      if (!state->facts.texts.used) return NearestPhase::others;  // all texts are in a pair
      [[fallthrough]];
    case NearestPhase::others:
      return state->facts.nulls_first ? NearestPhase::done : NearestPhase::last_nulls;
    default:
      return NearestPhase::done;
  }
}

TupleTableSlot *exec_nearest_rows(CustomScanState *node) {
  NearestRowsState *state = nearest_rows_state(node);
  ExprContext *context = node->ss.ps.ps_ExprContext;
  for (;;) {
    check_interrupts();
    ResetExprContext(context);
    if (!next_of_phase(state)) {
      if (state->phase == NearestPhase::done) break;
      state->phase = phase_after(state);
      state->next_row = 0;
      continue;
    }
    context->ecxt_scantuple = node->ss.ss_ScanTupleSlot;
    if (state->phase != NearestPhase::sorted && !ExecQual(node->ss.ps.qual, context)) {
      InstrCountFiltered1(node, 1);
      continue;
    }
    return node->ss.ps.ps_ProjInfo != nullptr ? ExecProject(node->ss.ps.ps_ProjInfo)
                                              : node->ss.ss_ScanTupleSlot;
  }
  ExecClearTuple(node->ss.ss_ScanTupleSlot);
  return nullptr;
}

// ---- Other callbacks ----

void rescan_nearest_rows(CustomScanState *node) {
  NearestRowsState *state = nearest_rows_state(node);
  ExecClearTuple(node->ss.ss_ScanTupleSlot);
  state->phase = NearestPhase::begin;
  pass_changed_parameters(node);
  PlanState *input = nearest_input(state);
  if (input->chgParam == nullptr || !state->rows.read) return;
  forget_rows(state);
  ExecReScan(input);
}

void end_nearest_rows(CustomScanState *node) {
  forget_rows(nearest_rows_state(node));
  end_inputs(node);
}

void explain_nearest_rows(CustomScanState *node, List *, ExplainState *es) {
  const NearestRowsState *state = nearest_rows_state(node);
  ExplainPropertyText("Measure", compared_by(state->facts), es);
  if (!es->analyze || !state->rows.read) return;
  ExplainPropertyBool(state->facts.ordered ? "Sorted Anew" : "Read Anew", state->sorts, es);
  if (state->rows.join == nullptr) return;
  ExplainPropertyUInteger("Rows Kept", nullptr, state->rows.count, es);
  ExplainPropertyUInteger("Pairs Verified", nullptr, state->verified + state->rows.join->stats().verified,
                          es);
  if (state->reached)
    ExplainPropertyFloat(state->facts.distance ? "Largest Distance" : "Least Similarity", nullptr,
                         std::abs(state->least), 4, es);
  ExplainPropertyUInteger("Index Memory", "kB", (state->memory + 1023) / 1024, es);
}

const CustomExecMethods nearest_rows_exec_methods = exec_methods_of({.name = nearest_rows_name,
                                                                     .begin = begin_nearest_rows,
                                                                     .exec = exec_nearest_rows,
                                                                     .end = end_nearest_rows,
                                                                     .rescan = rescan_nearest_rows,
                                                                     .explain = explain_nearest_rows});

}  // namespace

Node *create_nearest_rows_state(CustomScan *) {
  return make_node_state<NearestRowsState>(&nearest_rows_exec_methods);
}

}  // namespace simjoin::pg
