// The rows of a dedup view itself.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/dedup/affected.hpp"

namespace simjoin::pg {

// Replaces the view's rows that are others now. SQL does not write to materialized views; REFRESH does, under
// the lock that the caller holds, too.
void update_view(Relation view, const Affected &affected, const RowGrouping &grouping);

}  // namespace simjoin::pg
