// Refreshes of dedup views from the changes that triggers have written down, in time that follows these.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "utils/relcache.h"
}

#include "pg/dedup/state.hpp"

namespace simjoin::pg {

// The SQL function of refreshes from changes, for messages.
inline constexpr const char *refresh_function = "refresh_dedup_view";

// Refreshes the view from its tracked changes, and says what it did; returns false, having changed nothing,
// where that is not possible, or so much has changed that reading all rows takes less time. The caller has
// locked the table of the view's query and the view, which the user may refresh.
bool refresh_from_changes(Relation view, const DedupDefinition &definition, RefreshFigures *figures);

}  // namespace simjoin::pg
