// Refreshes of dedup views from the changes that triggers have written down, in time that follows these.
#pragma once

#include "pg/pg.hpp"

#include "pg/dedup_state.hpp"

namespace simjoin::pg {

// Refreshes the view, which tracks changes, and says what it did; returns false, having changed nothing,
// where that is not possible, or so much has changed that reading all rows takes less time. Errors where the
// user may not refresh it. Within SPI.
bool refresh_from_changes(Oid view, const DedupDefinition &definition, RefreshFigures *figures);

}  // namespace simjoin::pg
