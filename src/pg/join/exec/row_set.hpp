// The set of a row, on its way into the engine.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/join/exec/join_state.hpp"
#include "pg/sets/weights.hpp"

namespace simjoin::pg {

// What is wrong with the arrays of a row, in the order in which the measure looks at them.
struct RowFlaw {
  int dimensions;      // of the tokens: what dimensions_of_flawed() returned
  WeightFlaw weights;  // of a row whose tokens are a set

  bool none() const { return dimensions == 0 && weights.kind == WeightFlaw::Kind::none; }
};

// What a row's set is to the join.
struct RowSet {
  bool isnull;
  bool joins;  // the row may have partners; then the following are set
  RowFlaw flaw;
  SetView tokens;        // if they are a set
  const float *weights;  // of a weighted join, if the row has no flaw
  uint64_t partition;    // the hash of the keys
};

// Returns the set of a row. The row joins if neither its set nor one of its keys is NULL. Where it streams, a
// row of the other side has to have the same keys, too.
RowSet set_of_row(JoinState *state, Side side, TupleTableSlot *slot);

// Notes the hash of the partition keys of an input's row that has a set.
void note_keys(JoinState *state, JoinInput *input, uint64_t partition);

// Returns whether a row of the input that has a set may have these keys. `partition` is their hash.
bool may_have_keys(const JoinState *state, const JoinInput &input, uint64_t partition);

// Returns whether a set that joins and has no flaw has a weight above 0. Without weights, each element has
// one.
bool has_weight(const JoinState *state, const RowSet &set);

// Feeds a set that joins and has no flaw.
void feed_set_of_row(JoinState *state, Side side, const RowSet &set);

}  // namespace simjoin::pg
