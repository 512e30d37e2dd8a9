// The join operator in EXPLAIN.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/base/compat.hpp"
#include "pg/join/exec/join_state.hpp"

namespace simjoin::pg {

// Adds the figures of the current execution, if one has begun, to the totals.
void add_execution_to_totals(JoinState *state);

// ExplainCustomScan of the join's execution methods: one property a fact.
void explain_join(CustomScanState *node, List *ancestors, ExplainState *es);

}  // namespace simjoin::pg
