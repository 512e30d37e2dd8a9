// The state of the nodes NearestRows and SimilarRows in the executor.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/execnodes.h"
#include "nodes/extensible.h"
}

#include "core/nearest/row_search.hpp"
#include "pg/base/growing_array.hpp"
#include "pg/nearest/facts.hpp"
#include "pg/nearest/keys.hpp"
#include "pg/nearest/near_set.hpp"
#include "pg/rows/row_bits.hpp"
#include "pg/rows/row_store.hpp"

namespace simjoin::pg {

// The rows of the input. They are read once, and again if parameters that they depend on change.
struct KeptRows {
  bool read;
  RowSearch *join;  // of the rows' sets on its right side; NULL where it would take too much memory
  RowReader reader;
  uint32_t count;
  GrowingArray<uint32_t> nulls;   // rows whose set is NULL
  GrowingArray<uint32_t> flawed;  // rows whose array is no set, or whose text is too long for levenshtein
  RowBits without_set;            // rows whose set or text is NULL, or no set, or whose key is NULL
  GrowingArray<KeyedRow> keyed;   // with keys: the rows that have one, sorted
};

// What a scan hands up next, in this order: rows whose set is NULL come first or last.
enum class NearestPhase : uint8_t {
  begin,
  first_nulls,
  pairs,   // rows that share tokens with the probe
  others,  // rows that share none
  flawed,  // in SimilarRows, rows whose array is no set
  last_nulls,
  all,     // where the probe is NULL; in SimilarRows, where there is no bound or the probe's array is no set
  sorted,  // the rows of the second child
  done
};

struct NearestRowsState {
  CustomScanState css;
  NearestRowsFacts facts;
  NearSetExprs probe;
  NearSetExprs set;
  ExprState *bound;  // NULL without one
  Oid bound_type;
  ExprState *value;  // of texts: what rows are sorted by
  Oid value_type;
  KeySide row_keys, outer_keys;
  ExprState *other_quals;  // the conditions that do not mention the similarity
  TupleDesc descriptor;    // of the rows that are kept
  MemoryContext context;   // of the rows that are kept
  KeptRows rows;

  // Of the current scan.
  NearestPhase phase;
  bool bounded;       // rows beyond the bound are not handed up
  KeyedRange of_key;  // with keys: the rows of the outer row's key
  uint32_t next_row;  // in these, or in all rows
  Batch *batch;
  size_t batch_position;

  // The figures of EXPLAIN ANALYZE.
  uint64 verified;
  size_t memory;
  double least;  // the least similarity, or the largest distance, of a row that shared tokens
  bool reached;  // whether there was such a row
  bool sorts;    // some scan took the rows of the second child
};

inline PlanState *nearest_input(const NearestRowsState *state) {
  return static_cast<PlanState *>(linitial(state->css.custom_ps));
}
inline PlanState *nearest_sorted(const NearestRowsState *state) {
  return static_cast<PlanState *>(lsecond(state->css.custom_ps));
}

// Notes the score of a row that is handed up.
inline void note_reached(NearestRowsState *state, double score) {
  state->least = state->reached ? Min(state->least, score) : score;
  state->reached = true;
}

// Reads the input, if that has not been done.
void keep_rows(NearestRowsState *state);

// Begins a scan for the current outer row, and returns its first phase.
NearestPhase begin_scan_of_rows(NearestRowsState *state);

// Makes a row the scan tuple, and returns whether it meets the conditions without the similarity.
bool meets_conditions(NearestRowsState *state, uint32_t row);

// Returns what EXPLAIN calls the comparison of the probe and a row's set, without a copy.
const char *compared_by(const NearestRowsFacts &facts);

// Forgets the rows.
void forget_rows(NearestRowsState *state);

// Makes a kept row the node's scan tuple, with this similarity.
void fill_kept_row(NearestRowsState *state, uint32_t row, Datum similarity, bool isnull);
}  // namespace simjoin::pg
