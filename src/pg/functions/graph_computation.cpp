#include "pg/functions/graph_computation.hpp"

extern "C" {
#include "utils/memutils.h"
}

#include "core/base/memory_shares.hpp"
#include "pg/computation/watch.hpp"

namespace simjoin::pg {

GraphComputation::GraphComputation(size_t memory_limit) {
  memory.set_limit(memory_limit, {"the graph needs", "leave edges out"});
}

void GraphComputation::leave_room_for_keys() {
  const size_t limit = memory.limit();
  memory.set_limit(limit - 2 * key_share(limit),
                   {"the graph needs", "leave edges out", " that its keys leave"});
}

MemoryContext create_graph_context() {
  MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "graph", ALLOCSET_DEFAULT_SIZES);
  give_up_at_conflict(context);
  return context;
}

RowKeys *read_graph_of(const GraphCall &call, EdgeSink *sink, GraphComputation *work, MemoryContext context) {
  watch_graph(work, context, call.queries.function);
  RowKeys *keys = create_row_keys(call.key, KeyNumbers::shared, call.queries.function, context);
  if (!are_integers(keys)) work->leave_room_for_keys();
  read_graph(call.queries, keys, sink, &work->memory, context);
  return keys;
}

void watch_graph(const GraphComputation *graph, MemoryContext context, const char *function) {
  watch_computation(context, context, function, graph, [](const void *work) {
    const auto *of = static_cast<const GraphComputation *>(work);
    WatchFigures figures = figures_of(of->work.attempt);
    figures.memory_peak = of->memory.peak();
    figures.share_done = of->work.share_done;
    return figures;
  });
}

}  // namespace simjoin::pg
