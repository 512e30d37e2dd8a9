// Long computations of the core in PostgreSQL's hands: on threads of their own, with interrupt checks.
#pragma once

#include "pg/base/pg.hpp"

#include <functional>
#include <memory>

#include "core/base/background_task.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/settings.hpp"
#include "pg/computation/steps.hpp"
#include "pg/computation/watch.hpp"

namespace simjoin::pg {

// Runs body(WorkerPool &) and returns when it has ended. Interrupts are processed at least every few tens of
// milliseconds. An ERROR leaves the stack before the body stops, so the body must refer to nothing on it:
// what the body uses belongs to `context` or to a context above. A computation that is watched with the
// context as its key shows meanwhile how far it is.
template <class Body>
void run_interruptibly(MemoryContext context, Body body) {
  BackgroundTask *task = own(
      context, [&] { return std::make_unique<BackgroundTask>(Settings::cpu_threads(), std::move(body)); });
  for (bool done = false; !done; show_work(context)) {
    check_interrupts();
    done = call_step([&] { return task->wait(step_budget); });
  }
}

}  // namespace simjoin::pg
