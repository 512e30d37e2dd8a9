// The join operator in the executor.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/plannodes.h"
}

namespace simjoin::pg {

// CreateCustomScanState of the join's plan methods.
Node *create_join_state(CustomScan *plan);

}  // namespace simjoin::pg
