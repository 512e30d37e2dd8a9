// The entities of a dedup view: ids of its groups that stay when groups change, and the history of what
// became of them.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/dedup/affected.hpp"
#include "pg/dedup/state.hpp"
#include "pg/functions/duplicate_grouping.hpp"

namespace simjoin::pg {

// Gives the rows of the grouping, which are those of the state in their order, the entities that their groups
// go on with, and stores these. The active snapshot sees what the last refresh has stored.
void name_entities(const DedupState &state, RowGrouping *grouping);

// The same for affected rows: those of the grouping, and removed ones.
void name_entities(const DedupState &state, const Affected &affected, RowGrouping *grouping);

}  // namespace simjoin::pg
