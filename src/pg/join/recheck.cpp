#include "pg/join/recheck.hpp"

extern "C" {
#include "executor/executor.h"
}

namespace simjoin::pg {

void begin_recheck(JoinState *state) {
  EState *estate = state->css.ss.ps.state;
  if (estate->es_epq_active == nullptr) return;
  // PostgreSQL itself goes from one recheck to the next by this parameter, which all scans depend on. A plain
  // ExecReScan() would not reach scans below nodes that have not begun, such as a sort.
  MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
  Bitmapset *changed = bms_make_singleton(estate->es_epq_active->epqParam);
  ListCell *cell;
  foreach (cell, state->css.custom_ps) UpdateChangedParamSet(static_cast<PlanState *>(lfirst(cell)), changed);
  bms_free(changed);
  MemoryContextSwitchTo(old);
}

}  // namespace simjoin::pg
