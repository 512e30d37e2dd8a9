#include "pg/base/subtransaction.hpp"

extern "C" {
#include "access/xact.h"
#include "access/xlog.h"
#include "utils/resowner.h"
}

namespace simjoin::pg {

bool may_begin_subtransaction() {
  return !IsInParallelMode() && !RecoveryInProgress();
}

bool attempt(void (*body)(void *), void *argument) {
  MemoryContext context = CurrentMemoryContext;
  ResourceOwner owner = CurrentResourceOwner;
  volatile bool done = false;
  BeginInternalSubTransaction(nullptr);
  MemoryContextSwitchTo(context);
  PG_TRY();
  {
    body(argument);
    ReleaseCurrentSubTransaction();
    done = true;
  }
  PG_CATCH();
  {
    MemoryContextSwitchTo(context);
    ErrorData *error = CopyErrorData();
    FlushErrorState();
    RollbackAndReleaseCurrentSubTransaction();
    MemoryContextSwitchTo(context);
    CurrentResourceOwner = owner;
    if (ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION) ReThrowError(error);
    FreeErrorData(error);
  }
  PG_END_TRY();
  MemoryContextSwitchTo(context);
  CurrentResourceOwner = owner;
  return done;
}

}  // namespace simjoin::pg
