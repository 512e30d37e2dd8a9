// What a dedup view remembers between refreshes: its rows' fingerprints and its similar pairs.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "tcop/dest.h"
#include "utils/tuplestore.h"
}

#include "core/graph/node_numbers.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/settings.hpp"
#include "pg/dedup/part_query.hpp"
#include "pg/dedup/parts.hpp"
#include "pg/dedup/stored_rows.hpp"
#include "pg/functions/duplicate_grouping.hpp"
#include "pg/query/row_keys.hpp"
#include "pg/sets/set_codec.hpp"
#include "pg/sets/weights.hpp"

namespace simjoin::pg {

enum class RowState : uint8_t { added, changed, kept };

// A row of the view's query, and what has become of it since the last refresh.
struct DedupRow {
  int64 id;
  Fingerprint print;
  RowState state;
};

// What the last refresh of a session did.
struct RefreshFigures {
  int64 rows;
  int64 new_rows;
  int64 changed_rows;
  int64 removed_rows;
  int64 new_pairs;
  int64 read_rows;  // rows of the query that were read for that
};

// The numbers of ids. A memory context owns the object.
struct RowNumbers {
  explicit RowNumbers(size_t memory_limit) {
    memory.set_limit(memory_limit, {"the rows of a dedup view need", "make views of fewer rows"});
  }

  MemoryCounter memory;
  NodeNumbers numbers{memory};
};

// The rows of a view's query, compared with those of the last refresh: all in the query's order, or some in
// any order. Everything belongs to the context.
struct DedupState {
  const char *function;
  MemoryContext context;
  const DedupDefinition *definition;
  const OpenParts *parts;
  RowMeasure measure;
  const char *source;  // quoted names
  const char *rows_table;
  const char *pairs_table;
  RowNumbers *numbers;  // row i has the number i; removed rows have larger ones
  RowKeys *keys;        // of the rows and of removed ones; nullptr where ids are integers
  int64 *places;        // of each row's key in the order of the keys
  GrowingArray<DedupRow> rows;
  GrowingArray<int64> stale;  // ids of removed rows and of changed ones
  Tuplestorestate *sets;      // the query's rows, (id, set) or (id, set, weights)
  TupleDesc columns;
  TokenType token_type;
  RefreshFigures figures;

  size_t count() const { return rows.size(); }
};

// Runs the query of the view and compares its rows with the stored ones. Where `some` is given, only rows
// with these ids are compared, or with the noted keys.
DedupState *read_state(const DedupDefinition &definition, const OpenParts &parts, const IdList *some,
                       const char *function, MemoryContext context);

// Gives each row of the view's query its key's number in the parts, and a new number to a key that the parts
// do not have. Returns the numbers that they have, all of them or, with `noted_only`, those of the noted
// keys. Errors where two rows have the same key.
GrowingArray<int64> number_rows_by_key(DedupState *state, bool noted_only);

// Adds the rows with these ids, which are known to have been kept.
void add_kept_rows(DedupState *state, IdList some);

// Adds the stored pairs of rows that were kept to the work.
void add_kept_pairs(const DedupState &state, GroupingWork *work);

// Removes what is stored of removed and changed rows.
void remove_stale(const DedupState &state);

// Returns the key of a row for the table of rows, 0 where ids are integers.
Datum stored_key_of(const DedupState &state, size_t row);

// Stores new and changed rows.
void store_rows(const DedupState &state);

// Stores pairs.
void store_pairs(const DedupState &state, const StoredPair *pairs, size_t count);

// Calls body(set, weights) for the set of a row, and returns true. Returns false where the set or its weights
// are NULL. Where the view's sets have no weights, `weights` is nullptr.
template <class Body>
bool with_set(const DedupState &state, TupleTableSlot *slot, Body &&body) {
  bool isnull;
  const Datum array = slot_getattr(slot, 2, &isnull);
  const Datum weights = isnull || !state.measure.weighted ? Datum{0} : slot_getattr(slot, 3, &isnull);
  if (isnull) return false;
  const SetView set = view_set(array, state.function);
  if (state.measure.weighted) {
    ArrayType *weight_array = DatumGetArrayTypeP(weights);
    body(set, view_weights(weight_array, set, state.function));
    if (PointerGetDatum(weight_array) != weights) pfree(weight_array);
  } else {
    body(set, nullptr);
  }
  free_view(set, array);
  return true;
}

// Calls body(row, slot) for every row.
template <class Body>
void for_rows(const DedupState &state, Body &&body) {
  TupleTableSlot *slot = MakeSingleTupleTableSlot(state.columns, &TTSOpsMinimalTuple);
  tuplestore_rescan(state.sets);
  for (size_t row = 0; tuplestore_gettupleslot(state.sets, true, false, slot); ++row) {
    check_interrupts();
    body(row, slot);
  }
  ExecDropSingleTupleTableSlot(slot);
}

}  // namespace simjoin::pg
