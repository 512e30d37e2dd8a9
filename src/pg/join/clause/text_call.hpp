// Measures of two texts with a tokenizer, as measures of their sets.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/supportnodes.h"
}

namespace simjoin::pg {

// Returns the call of the measure with the sets of both texts, where the request is for a call with two texts
// and a constant tokenizer. Its value is the same, and the planner knows it as a similarity. Returns NULL for
// other calls.
Node *with_sets(const SupportRequestSimplify &request);

}  // namespace simjoin::pg
