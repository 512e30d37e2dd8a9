// Memory of one row at a time.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "utils/memutils.h"
}

namespace simjoin::pg {

// Calls body() in the memory context, which is empty afterwards.
template <class Body>
void in_row_context(MemoryContext context, Body &&body) {
  MemoryContext caller = MemoryContextSwitchTo(context);
  body();
  MemoryContextSwitchTo(caller);
  MemoryContextReset(context);
}

}  // namespace simjoin::pg
