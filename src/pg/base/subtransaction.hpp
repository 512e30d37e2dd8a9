// Work that may fail without failing the statement.
#pragma once

#include "pg/base/pg.hpp"

namespace simjoin::pg {

// Returns whether a subtransaction can begin here. Parallel queries allow none, and on a standby a conflict
// with recovery within one would end the session.
bool may_begin_subtransaction();

// Calls body(argument) in a subtransaction. Returns false where it raised an error, whose effects are undone.
// Memory of the caller's contexts stays. A cancel and the like are raised again.
bool attempt(void (*body)(void *), void *argument);

}  // namespace simjoin::pg
