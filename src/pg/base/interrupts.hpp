// Interrupts where a session has computations: memory and threads that take long to give back.
//
// A hot standby signals a conflict with recovery every 5 ms until the transaction has ended. PostgreSQL 14
// and 15 end the session if a signal comes after the error was raised and before the transaction has ended.
// So what takes long to give back is given back before the error.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "miscadmin.h"
}

namespace simjoin::pg {

// Returns whether CHECK_FOR_INTERRUPTS() would end the statement.
bool statement_ends();

// Lets check_interrupts() reset the context before a conflict with recovery ends the transaction, once. Call
// it again after each reset of the context. Nothing that describes an error may be in it, such as the text of
// a query that runs meanwhile.
void give_up_at_conflict(MemoryContext context);

// The same as CHECK_FOR_INTERRUPTS(), in all code of a session: any of it may run beside a computation.
// Before the error of a conflict with recovery it resets the contexts of all computations. It must not be
// called where code could catch the error without a subtransaction.
void process_interrupts();
inline void check_interrupts() {
  if (InterruptPending != 0) process_interrupts();
}

}  // namespace simjoin::pg
