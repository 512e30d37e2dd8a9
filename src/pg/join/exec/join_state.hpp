// The state of the join operator in the executor, in parts.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "executor/instrument.h"
#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "storage/fd.h"
}

#include "core/join.hpp"
#include "core/stream/streamed_join.hpp"
#include "pg/base/growing_array.hpp"
#include "pg/join/clause/facts.hpp"
#include "pg/join/clause/method.hpp"
#include "pg/join/exec/block_input.hpp"
#include "pg/join/exec/nearest_pairs.hpp"
#include "pg/rows/row_bits.hpp"
#include "pg/rows/row_store.hpp"

namespace simjoin::pg {

inline constexpr uint32_t no_row = UINT32_MAX;

inline Side opposite(Side side) {
  return side == Side::left ? Side::right : Side::left;
}

// What the node does: it reads rows, hands up pairs of a row with itself and pairs of the engine, and then
// rows without a partner. If one side streams, its rows are read and handed up in the phase `stream`.
enum class JoinPhase : uint8_t {
  feed,
  null_pairs,
  same_row,
  pairs,
  stream,
  unmatched_left,
  unmatched_right,
  done
};

// One input of the join.
struct JoinInput {
  PlanState *child;
  BlockInput *blocks;  // reads the child's rows where they come in blocks, else NULL
  // The child's output columns that are kept because they are needed above the join. With read_once they are
  // the columns that either side needs. Without any, no row is kept.
  int kept_count;
  AttrNumber *kept;  // numbers in the child's output, from 1
  TupleDesc descriptor;
  // Where they go: used_count pairs of a column of the scan tuple and a column of the kept row, both from 0.
  int used_count;
  int *scan_columns;
  int *kept_columns;

  // Of the current execution.
  RowReader reader;  // its store is NULL where no row is kept
  uint32_t row_count;
  uint32_t current_row;  // the row whose columns are in values and nulls
  Datum *values;
  bool *nulls;
  RowBits key_slots;    // with partition keys: the hashes of the keys of rows that have a set
  RowBits without_set;  // rows whose set is NULL
  RowBits matchless;    // rows that match nothing: without set or with NULL keys, and with empty sets where
                        // these match nothing
  RowBits weightless;   // rows whose sets are empty or have no weight above 0: not even like themselves
  RowBits matched;      // rows that found a partner; without bits where the join type does not need it
  // Where the side streams: its current row, which has the number 0, and whether it found a partner. Else
  // NULL.
  TupleTableSlot *slot;
  bool slot_matched;
};

// A side that streams past an index of the other one, which is small.
struct RowStream {
  Side side;
  TupleTableSlot *first;  // its first row, before that has its turn
  bool open;              // the current row may have pairs, or be handed up without a partner
  // In a semi or anti join with a small left side: the left rows with a set that have no partner. Without
  // any, the join ends.
  uint32_t wanting;
};

// Pairs of rows of which one at least has no set (null_pairs.hpp).
struct NullPairs {
  bool listed;
  GrowingArray<uint32_t> right_rows;  // without a set
  uint32_t partner;                   // the next one of the left row: its place among those
};

// The inputs of the join. Rows whose partition keys differ are kept apart.
struct JoinInputs {
  JoinInput sides[2];  // with read_once, the left input is fed and the right one shares its rows
  JoinKey *keys;
  int key_count;
  FmgrInfo *key_hash[2];  // for each side, one a key

  JoinInput &operator[](Side side) { return sides[static_cast<int>(side)]; }
  const JoinInput &operator[](Side side) const { return sides[static_cast<int>(side)]; }
};

// What an execution asks of pairs, and how they are found. EXPLAIN shows the last one.
struct JoinTerms {
  bool known;  // in some execution
  Measure measure;
  bool limit_isnull;  // the threshold is NULL, and `limit` is not set
  double limit;       // the threshold as it was written: of the similarity, or of the distance
  double threshold;   // matching pairs reach it; with a distance they are also within the limit
  JoinMethod method;
};

// The engine of an execution, and its pairs.
struct EngineState {
  JoinEngine *join;
  bool streamed;        // it is a StreamedJoin: one side is small, or may be
  DoneRows *done_rows;  // of a semi or anti join: the left rows that found a partner, for the engine
  File spill_file;      // 0 where it has none
  Batch *batch;
  size_t batch_position;
  // In a join of the same rows: the current pair comes next the other way round; pairs come first with the
  // larger row number on the left.
  bool other_way;
  bool larger_first;
  uint64_t beyond;    // pairs of the engine that turned out to be beyond the distance
  bool build_logged;  // phase_log.hpp
};

// The figures of EXPLAIN ANALYZE, over all executions.
struct JoinTotals {
  bool keep;
  JoinStats *engine;
  LshStats bands;
  uint64 equal_pairs;  // pairs of the engine whose sets are equal, where counts_equal_pairs()
  instr_time scan_time;
  instr_time engine_time;
  uint64 row_memory;  // bytes of rows in memory, and in temporary files
  uint64 row_file;
  uint64 memory_drawn;  // 0 where simjoin.memory_limit gives a number
  uint64 memory_asked;
};

struct JoinState {
  CustomScanState css;
  JoinPlanFacts facts;
  JoinColumn *columns;  // of the scan tuple
  int column_count;
  int *similarity_columns;  // used columns of the scan tuple that hold the similarity, from 0
  int similarity_count;
  ExprState *threshold_expr;
  Oid threshold_type;
  ExprState *join_quals;
  JoinInputs inputs;
  JoinTerms terms;
  JoinTotals totals;
  struct JoinAside *aside;  // rows whose arrays are no sets (aside.hpp)

  // Of the current execution; what it allocates is in `context`.
  MemoryContext context;
  size_t memory_limit;
  JoinPhase phase;
  uint32_t next_row;  // in the phases that walk over rows
  EngineState engine;
  PairSearch search;  // where facts.ranked
  NullPairs null_pairs;
  RowStream stream;  // with a streamed engine, in the phase `stream`
};

// Returns the engine where one side is small, or may be; else NULL.
inline StreamedJoin *streamed_join(const JoinState *state) {
  return state->engine.streamed ? static_cast<StreamedJoin *>(state->engine.join) : nullptr;
}

// Returns the engine where the join is by bands; else NULL.
inline LshJoin *band_join(const JoinState *state) {
  return state->terms.method.by_bands ? static_cast<LshJoin *>(state->engine.join) : nullptr;
}

// Returns whether pairs of equal sets are counted. Where a join asks only if rows have partners, it depends
// on the speed of threads which pairs come.
inline bool counts_equal_pairs(const JoinState *state) {
  return !state->facts.weighted() && !state->facts.asks_for_existence();
}

// Returns whether a row of the side has found a partner.
inline bool has_partner(const JoinInput &input, uint32_t row) {
  return input.slot != nullptr ? input.slot_matched : has_row(input.matched, row);
}

}  // namespace simjoin::pg
