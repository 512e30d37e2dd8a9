// What the functions over graphs have in common: memory, device, threads, and what other sessions see.
#pragma once

#include "pg/base/pg.hpp"

#include "core/base/memory.hpp"
#include "core/graph/graph_work.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/settings.hpp"
#include "pg/computation/background.hpp"
#include "pg/computation/gpu_notices.hpp"

namespace simjoin::pg {

// The session itself does up to this many operations, of some 100 ns each. Starting threads takes as long as
// some thousand of them, and no interrupt waits long.
inline constexpr double few_operations = 20000;

// What every computation has beside its edges and its result.
struct GraphComputation {
  explicit GraphComputation(size_t memory_limit);
  void leave_room_for_keys();

  MemoryCounter memory;
  GraphWork work{Settings::device(), Settings::gpu_memory_limit()};
};

// Shows the computation, which belongs to the context, to other sessions. The context is its key.
void watch_graph(const GraphComputation *graph, MemoryContext context, const char *function);

// Runs body(pool) for the computation, which belongs to the context. Tells the session where it leaves a GPU.
template <class Body>
void compute(MemoryContext context, GraphComputation *graph, double operations, Body &&body) {
  prepare_gpu_use();
  if (operations <= few_operations)
    call_cpp([&] {
      const StopFlag never;
      WorkerPool pool(1, never);
      body(pool);
    });
  else
    run_interruptibly(context, body);
  report_gpu_notice_of(&graph->work.attempt);
}

}  // namespace simjoin::pg
