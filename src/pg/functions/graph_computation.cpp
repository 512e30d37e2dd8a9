#include "pg/functions/graph_computation.hpp"

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
