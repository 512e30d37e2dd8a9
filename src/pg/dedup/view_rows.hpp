// The rows of a dedup view itself.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/dedup/affected.hpp"

namespace simjoin::pg {

// Replaces the rows of the view that have changed. SQL does not write to materialized views. REFRESH does,
// under the same lock that the caller holds. The active snapshot sees the rows of the last refresh.
void update_view(Relation view, const DedupDefinition &definition, const Affected &affected,
                 const RowGrouping &grouping);

}  // namespace simjoin::pg
