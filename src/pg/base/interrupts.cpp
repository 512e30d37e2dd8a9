#include "pg/base/interrupts.hpp"

extern "C" {
#include "access/xact.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"
}

namespace simjoin::pg {
namespace {

// A context that is given up at a conflict, the newest first. It is in the context itself.
struct GivenUp {
  MemoryContextCallback callback;
  MemoryContext context;
  GivenUp *next;
};
GivenUp *newest_given_up = nullptr;

void forget_given_up(void *argument) {
  GivenUp **link = &newest_given_up;
  while (*link != argument) link = &(*link)->next;
  *link = (*link)->next;
}

// Returns whether a conflict ends the whole transaction, so that nothing of it is needed any more. In a
// subtransaction it ends the session.
bool conflict_ends_transaction() {
  return MyProc != nullptr && MyProc->recoveryConflictPending && statement_ends() && !IsSubTransaction();
}

// The most milliseconds to wait for the next signal of a conflict. On a busy host it is late.
constexpr long most_wait_for_signal = 20;

void give_up_computations() {
  if (newest_given_up == nullptr) return;
  MemoryContextSwitchTo(TopTransactionContext);  // the current context may be below one of them
  while (newest_given_up != nullptr) MemoryContextReset(newest_given_up->context);
  HOLD_INTERRUPTS();  // a message would process them
  elog(DEBUG1, "simjoin gave up its computations before the error of a conflict with recovery");
  RESUME_INTERRUPTS();
  // Right after a signal, there are 5 ms until the next one.
  ResetLatch(MyLatch);
  WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, most_wait_for_signal,
            PG_WAIT_EXTENSION);
}

}  // namespace

bool statement_ends() {
  return InterruptPending != 0 && (QueryCancelPending != 0 || ProcDiePending != 0) &&
         InterruptHoldoffCount == 0 && QueryCancelHoldoffCount == 0 && CritSectionCount == 0;
}

void give_up_at_conflict(MemoryContext context) {
  auto *entry = static_cast<GivenUp *>(MemoryContextAlloc(context, sizeof(GivenUp)));
  *entry = {{forget_given_up, entry, nullptr}, context, newest_given_up};
  newest_given_up = entry;
  MemoryContextRegisterResetCallback(context, &entry->callback);
}

void process_interrupts() {
  if (conflict_ends_transaction()) give_up_computations();
  CHECK_FOR_INTERRUPTS();
}

}  // namespace simjoin::pg
