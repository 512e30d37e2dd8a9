// What the functions over graphs have in common: memory, device, threads, and what other sessions see.
#pragma once

#include "pg/base/pg.hpp"

#include "core/base/memory.hpp"
#include "core/graph/graph_work.hpp"
#include "pg/base/computation_memory.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/settings.hpp"
#include "pg/computation/background.hpp"
#include "pg/computation/gpu_notices.hpp"
#include "pg/functions/edge_query.hpp"

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

// Takes edges for an EdgeList.
class ListSink : public EdgeSink {
 public:
  explicit ListSink(EdgeList *edges) : edges_(edges) {}

  void add_edge(int64 from, int64 to) override { edges_->add_edge(from, to); }
  void add_node(int64 node) override { edges_->add_node(node); }
  bool takes_weights() const override { return true; }
  void add_weighted_edge(int64 from, int64 to, double weight) override { edges_->add_edge(from, to, weight); }

 private:
  EdgeList *edges_;
};

// A call of a function over a graph.
struct GraphCall {
  GraphQueries queries;
  KeyArgument key;
};

MemoryContext create_graph_context();

// Returns what a computation in the context works with.
template <class Work>
Work *create_graph_work(MemoryContext context) {
  const size_t limit = memory_limit_of(context);
  return own(context, [limit] { return std::make_unique<Work>(limit); });
}

// Reads the graph of the call. Returns its keys, or nullptr where nodes are returned as bigint.
RowKeys *read_graph_of(const GraphCall &call, EdgeSink *sink, GraphComputation *work, MemoryContext context);

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
