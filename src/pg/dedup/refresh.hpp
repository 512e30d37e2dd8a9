// Refreshes of dedup views from the changes that triggers have written down. They take time in proportion to
// the changes.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "utils/relcache.h"
}

#include "pg/dedup/state.hpp"

namespace simjoin::pg {

// The SQL function of refreshes from changes, for messages.
inline constexpr const char *refresh_function = "refresh_dedup_view";

// Refreshes the view from its tracked changes, and gives figures of what was done. Returns false, having
// changed nothing, where that is not possible or where reading all rows takes less time. The user may refresh
// the view. The caller has locked it and the table of its query.
bool refresh_from_changes(Relation view, const DedupDefinition &definition, RefreshFigures *figures);

}  // namespace simjoin::pg
