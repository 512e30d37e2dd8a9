// spanning_forest(): edges that connect the ids of a part as its pairs do, for components of all parts.
#include "pg/base/pg.hpp"

#include <memory>

#include "core/graph/spanning_forest.hpp"
#include "pg/base/computation_memory.hpp"
#include "pg/base/errors.hpp"
#include "pg/sets/arrays.hpp"

namespace simjoin::pg {
namespace {

constexpr size_t most_edges = (size_t{1} << 26) - 8;  // an array has less than 1 GB

struct ForestState {
  explicit ForestState(size_t memory_limit) {
    memory.set_limit(memory_limit, {"spanning_forest needs", "group by more parts"});
  }

  MemoryCounter memory;
  SpanningForest forest{memory};
};

ForestState *create_state(MemoryContext context) {
  const size_t limit = memory_limit_of(context, ordinary_memory);  // groups may share the context
  return own(context, [limit] { return std::make_unique<ForestState>(limit); });
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_spanning_forest_add);
Datum simjoin_spanning_forest_add(PG_FUNCTION_ARGS) {
  MemoryContext context;
  if (AggCheckCallContext(fcinfo, &context) == 0)
    elog(ERROR, "spanning_forest_add: called outside an aggregate");
  auto *state =
      PG_ARGISNULL(0) ? create_state(context) : reinterpret_cast<ForestState *>(PG_GETARG_POINTER(0));
  if (!PG_ARGISNULL(1) && !PG_ARGISNULL(2))
    call_cpp([&] { state->forest.add_edge(PG_GETARG_INT64(1), PG_GETARG_INT64(2)); });
  PG_RETURN_POINTER(state);
}

PG_FUNCTION_INFO_V1(simjoin_spanning_forest_edges);
Datum simjoin_spanning_forest_edges(PG_FUNCTION_ARGS) {
  if (AggCheckCallContext(fcinfo, nullptr) == 0)
    elog(ERROR, "spanning_forest_edges: called outside an aggregate");
  if (PG_ARGISNULL(0)) PG_RETURN_DATUM(make_array<int64>(0).datum());
  const auto &edges = reinterpret_cast<ForestState *>(PG_GETARG_POINTER(0))->forest.edges();
  if (edges.size() > most_edges)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("spanning_forest: %zu edges are too many for one array", edges.size()),
                    errhint("Group by more parts.")));
  const auto result = make_array<int64>(2 * edges.size());
  for (size_t i = 0; i < edges.size(); ++i) {
    result.elements[2 * i] = edges[i].from;
    result.elements[2 * i + 1] = edges[i].to;
  }
  PG_RETURN_DATUM(result.datum());
}
}

}  // namespace simjoin::pg
