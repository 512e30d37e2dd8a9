// The beginning of a scan of NearestRows or SimilarRows: the probe is looked at.
#include "pg/base/pg.hpp"

extern "C" {
#include "executor/executor.h"
}

#include "pg/base/arguments.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/join/clause/threshold.hpp"
#include "pg/nearest/facts.hpp"
#include "pg/nearest/state.hpp"
#include "pg/nearest/texts.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {
namespace {

// Raises the error of a row whose array is no set, if the sort of all rows raised it.
void check_flawed_rows(NearestRowsState *state) {
  for (const uint32_t row : state->rows.flawed) {
    if (!meets_conditions(state, row)) continue;
    raise_flaw_of_set(state->facts, evaluate_set(state->facts, state->set, state->css.ss.ps.ps_ExprContext));
  }
}

// Raises the error of a probe whose array is no set, if the sort of all rows raised it.
void check_flawed_probe(NearestRowsState *state, const NearSet &probe) {
  const uint32_t *null = state->rows.nulls.begin();
  for (uint32_t row = 0; row < state->rows.count; ++row) {
    if (null != state->rows.nulls.end() && *null == row) {
      ++null;
    } else if (meets_conditions(state, row)) {
      raise_flaw_of_set(state->facts, probe);
    }
  }
}

// Returns the least score of pairs that meet the bound, and whether there is one. Conditions filter the
// pairs.
double least_score(NearestRowsState *state, bool *bounded) {
  const NearestOrder order = state->facts.order();
  const double any = order.score(0, 1, 1);
  *bounded = false;
  if (state->bound == nullptr) return any;
  bool isnull;
  const Datum value = ExecEvalExprSwitchContext(state->bound, state->css.ss.ps.ps_ExprContext, &isnull);
  if (isnull) return any;
  const double bound = threshold_value(value, state->bound_type);
  const double score = order.single ? order.score_of(bound) : order.distance ? -bound : bound;
  *bounded = score > any;  // false where it is not a number
  return *bounded ? score : any;
}

// Feeds the probe's set, and chooses what a scan of NearestRows hands up first.
NearestPhase begin_nearest(NearestRowsState *state, const NearSet &probe, uint64_t key) {
  feed_keyed_set(state, Side::left, probe, key);
  const double least = least_score(state, &state->bounded);
  call_cpp([&] { state->rows.join->limit(static_cast<uint32_t>(state->facts.first_pairs), least); });
  check_flawed_rows(state);
  return state->facts.nulls_first && !state->bounded ? NearestPhase::first_nulls : NearestPhase::pairs;
}

// Does the same for SimilarRows. The conditions are evaluated for all rows that it hands up.
NearestPhase begin_similar(NearestRowsState *state, const NearSet &probe, uint64_t key) {
  feed_keyed_set(state, Side::left, probe, key);
  const double least = least_score(state, &state->bounded);
  if (!state->bounded) return NearestPhase::all;
  call_cpp([&] { state->rows.join->limit(UINT32_MAX, least); });
  return NearestPhase::pairs;
}

// Looks at the probe, and chooses what the scan hands up first.
NearestPhase begin_search(NearestRowsState *state) {
  ExprContext *context = state->css.ss.ps.ps_ExprContext;
  ResetExprContext(context);
  uint64_t key;
  if (!hash_of_key(state->outer_keys, context, &key)) return NearestPhase::done;
  state->of_key = rows_of_key(state->rows.keyed, key);
  NearSet probe = {};
  Datum text = 0;
  if (state->facts.texts.used)
    text = ExecEvalExprSwitchContext(state->probe.set, context, &probe.isnull);
  else
    probe = evaluate_set(state->facts, state->probe, context);
  // A similarity that is NULL meets no bound.
  if (probe.isnull) return state->bound == nullptr ? NearestPhase::all : NearestPhase::done;
  if (state->facts.texts.used) return begin_nearest_text(state, text, key);
  if (!probe.flawed())
    return state->facts.ordered ? begin_nearest(state, probe, key) : begin_similar(state, probe, key);
  if (!state->facts.ordered) return NearestPhase::all;  // the conditions raise the error
  check_flawed_probe(state, probe);
  return NearestPhase::last_nulls;  // the other rows meet no condition
}

}  // namespace

bool meets_conditions(NearestRowsState *state, uint32_t row) {
  check_interrupts();
  ExprContext *context = state->css.ss.ps.ps_ExprContext;
  ResetExprContext(context);
  fill_kept_row(state, row, 0, true);
  context->ecxt_scantuple = state->css.ss.ss_ScanTupleSlot;
  return ExecQual(state->other_quals, context);
}

NearestPhase begin_scan_of_rows(NearestRowsState *state) {
  keep_rows(state);
  state->batch_position = 0;
  if (state->rows.join != nullptr) {
    call_cpp([&] { state->batch->clear(); });
    return begin_search(state);
  }
  state->sorts = true;
  ExecReScan(nearest_sorted(state));
  return NearestPhase::sorted;
}

const char *compared_by(const NearestRowsFacts &facts) {
  if (facts.texts.used) return compared_by_texts(facts.texts);
  if (!facts.single) return function_of_order(facts);
  return facts.distance ? "<-> of pg_trgm" : "similarity of pg_trgm";
}

}  // namespace simjoin::pg
