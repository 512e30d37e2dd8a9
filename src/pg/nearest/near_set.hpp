// The set of a row or of the probe, with its weights if the measure has some.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/execnodes.h"
}

#include "core/join.hpp"
#include "pg/nearest/facts.hpp"
#include "pg/sets/set_codec.hpp"
#include "pg/sets/weights.hpp"

namespace simjoin::pg {

struct NearestRowsState;

// Where the expressions of a set are.
struct NearSetExprs {
  ExprState *set;
  ExprState *weights;  // NULL without any
};

struct NearSet {
  bool isnull;     // the set, or its weights
  int dimensions;  // of an array that is no set; else 0
  WeightFlaw flaw;
  SetView view;
  const float *weights;

  bool flawed() const { return dimensions > 0 || flaw.kind != WeightFlaw::Kind::none; }
};

// Evaluates the expressions for the current row. The result lives in the memory of the row.
NearSet evaluate_set(const NearestRowsFacts &facts, const NearSetExprs &exprs, ExprContext *context);

// Raises the error that the measure raises for a flawed set.
[[noreturn]] void raise_flaw_of_set(const NearestRowsFacts &facts, const NearSet &set);

// Feeds a set, that of a row or the probe, whose key has this hash.
void feed_keyed_set(NearestRowsState *state, Side side, const NearSet &set, uint64_t key);

// Returns the name of the measure's function.
const char *function_of_order(const NearestRowsFacts &facts);

}  // namespace simjoin::pg
