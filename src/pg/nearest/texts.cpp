// Texts in the executor of NearestRows.
#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "utils/memutils.h"
}

#include <algorithm>
#include <limits>

#include "core/set_slices.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/join/clause/edits.hpp"
#include "pg/join/clause/threshold.hpp"
#include "pg/nearest/state.hpp"
#include "pg/nearest/texts.hpp"
#include "pg/sets/characters.hpp"

namespace simjoin::pg {
namespace {

// More than roundings of a score and a bound add up to.
constexpr double bound_slack = 1e-9;

// Returns the row of a search of texts: its key and its characters, in the current memory context.
std::span<int32_t> numbers_of_text(Datum value, uint64_t key) {
  const Bytes bytes = bytes_of(DatumGetTextPP(value));
  const bool single = has_characters_of_bytes(bytes);
  const Points points = single ? Points() : points_of(bytes);
  const size_t count = single ? bytes.size() : points.size();
  auto *numbers =
      static_cast<int32_t *>(MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int32_t) * (count + 2)));
  numbers[0] = static_cast<int32_t>(key >> 32);
  numbers[1] = static_cast<int32_t>(key);
  if (single)
    std::copy(bytes.begin(), bytes.end(), numbers + 2);
  else
    std::copy(points.begin(), points.end(), numbers + 2);
  return {numbers, count + 2};
}

// Computes the value of a row that meets the conditions without it, which raises the error that the sort has.
void raise_error_of_row(NearestRowsState *state, uint32_t row) {
  if (!meets_conditions(state, row)) return;
  bool isnull;
  ExecEvalExprSwitchContext(state->value, state->css.ss.ps.ps_ExprContext, &isnull);
}

// Raises the error of a pair whose distance cannot be computed, if the sort of all rows raised it.
void check_refused_texts(NearestRowsState *state) {
  const KeptRows &rows = state->rows;
  const TextFacts &facts = state->facts.texts;
  const uint32_t probe = rows.join->set_size(Side::left, 0);
  const bool long_probe = facts.levenshtein && probe > longest_of_levenshtein;
  if (facts.levenshtein && probe > 0 && !long_probe)
    for (const uint32_t row : rows.flawed) raise_error_of_row(state, row);
  if (!long_probe && (probe > 0 || !facts.refuses_empty)) return;
  for (uint32_t row = 0; row < rows.count; ++row) {
    check_interrupts();
    if (!has_row(rows.without_set, row) && (rows.join->set_size(Side::right, row) > 0) == long_probe)
      raise_error_of_row(state, row);
  }
}

// Returns the least score of rows that meet the bound, and whether there is one.
double least_score_of_texts(NearestRowsState *state, bool *bounded) {
  const TextOrder &order = state->facts.texts.order;
  const double any = order.least_score();
  *bounded = false;
  if (state->bound == nullptr) return any;
  bool isnull;
  const Datum value = ExecEvalExprSwitchContext(state->bound, state->css.ss.ps.ps_ExprContext, &isnull);
  if (isnull) return any;
  const double bound = threshold_value(value, state->bound_type);
  // Of edits, the score is minus a distance, or a similarity minus 1.
  const double score = !order.by_edits() ? bound : state->facts.distance ? -bound : bound - 1;
  *bounded = score - bound_slack > any;  // false where it is not a number
  return *bounded ? score - bound_slack : any;
}

}  // namespace

void feed_keyed_text(NearestRowsState *state, Side side, Datum value, uint64_t key) {
  MemoryContext old = MemoryContextSwitchTo(state->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
  const std::span<int32_t> numbers = numbers_of_text(value, key);
  MemoryContextSwitchTo(old);
  const auto count = static_cast<uint32_t>(numbers.size());
  call_cpp([&] { state->rows.join->add(side, row_of(std::span<const int32_t>(numbers), count)); });
}

void add_text_of_row(NearestRowsState *state, Datum value, uint64_t key) {
  KeptRows *rows = &state->rows;
  feed_keyed_text(state, Side::right, value, key);
  if (state->facts.texts.levenshtein &&
      rows->join->set_size(Side::right, rows->count) > longest_of_levenshtein)
    rows->flawed.append(rows->count);
}

NearestPhase begin_nearest_text(NearestRowsState *state, Datum probe, uint64_t key) {
  feed_keyed_text(state, Side::left, probe, key);
  const double least = least_score_of_texts(state, &state->bounded);
  call_cpp([&] { state->rows.join->limit(static_cast<uint32_t>(state->facts.first_pairs), least); });
  check_refused_texts(state);
  return state->facts.nulls_first && !state->bounded ? NearestPhase::first_nulls : NearestPhase::pairs;
}

bool is_null_for_empty(const NearestRowsState *state, uint32_t row) {
  const RowSearch *search = state->rows.join;
  return state->facts.texts.used && !state->facts.texts.order.empty_pairs &&
         search->set_size(Side::left, 0) == 0 && search->set_size(Side::right, row) == 0;
}

void fill_value_of_text(NearestRowsState *state) {
  TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
  ExprContext *context = state->css.ss.ps.ps_ExprContext;
  context->ecxt_scantuple = slot;
  if (!ExecQual(state->other_quals, context)) return;
  const int column = state->facts.columns;
  const Datum value = ExecEvalExprSwitchContext(state->value, context, &slot->tts_isnull[column]);
  slot->tts_values[column] = value;
  if (slot->tts_isnull[column] || state->value_type == NUMERICOID) return;
  const double number = threshold_value(value, state->value_type);
  note_reached(state, state->facts.distance ? -number : number);
}

const char *compared_by_texts(const TextFacts &facts) {
  switch (facts.order.measure) {
    case TextMeasure::edits:
      if (facts.levenshtein) return facts.order.share ? "levenshtein / length" : "levenshtein";
      return facts.order.share ? "edit_distance / length" : "edit_distance";
    case TextMeasure::damerau:
      return facts.order.share ? "damerau_distance / length" : "damerau_distance";
    case TextMeasure::jaro:
      return "jaro_similarity";
    default:
      return "jaro_winkler_similarity";
  }
}

}  // namespace simjoin::pg
