// Functions over graphs whose edges a query returns: components, PageRank, dense subgraphs.
#include "pg/pg.hpp"

extern "C" {
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/memutils.h"
}

#include <optional>

#include "core/graph_components.hpp"
#include "core/graph_densest.hpp"
#include "core/graph_pagerank.hpp"
#include "pg/background.hpp"
#include "pg/compat.hpp"
#include "pg/edge_query.hpp"
#include "pg/errors.hpp"
#include "pg/query_receiver.hpp"
#include "pg/tokens.hpp"

namespace simjoin::pg {
namespace {

struct ComponentsWork {
  MemoryCounter memory;
  ComponentFinder finder{memory};
  std::optional<Components> result;
};

struct PageRankWork {
  MemoryCounter memory;
  EdgeList edges{memory};
  EdgeUse use;
  double damping;
  double tolerance;
  bool random_walk;
  uint32_t coupons;
  uint64_t seed;
  std::optional<Ranks> result;
};

struct DensestWork {
  MemoryCounter memory;
  EdgeList edges{memory};
  std::optional<DenseSubgraph> result;
};

// Returns who takes edges for the object: an EdgeList or a ComponentFinder.
template <class Object>
EdgeSink sink_into(Object *object) {
  EdgeSink sink = {};
  sink.object = object;
  sink.add_edge = [](void *to, int64 a, int64 b) { static_cast<Object *>(to)->add_edge(a, b); };
  sink.add_node = [](void *to, int64 node) { static_cast<Object *>(to)->add_node(node); };
  if constexpr (std::is_same_v<Object, EdgeList>)
    sink.add_weighted_edge = [](void *to, int64 a, int64 b, double weight) {
      static_cast<Object *>(to)->add_edge(a, b, weight);
    };
  return sink;
}

MemoryContext create_graph_context() {
  return AllocSetContextCreate(CurrentMemoryContext, "graph", ALLOCSET_DEFAULT_SIZES);
}

// Returns whether an argument other than the query for nodes is NULL.
bool any_null(FunctionCallInfo fcinfo, int nodes_argument) {
  for (int i = 0; i < PG_NARGS(); ++i)
    if (i != nodes_argument && PG_ARGISNULL(i)) return true;
  return false;
}

// Reads the query for edges, and that for nodes unless it is NULL.
template <class Object>
void read_graph(FunctionCallInfo fcinfo, int nodes_argument, Object *object, const char *function) {
  const EdgeSink sink = sink_into(object);
  read_edges(string_argument(fcinfo, 0), sink, function);
  if (nodes_argument >= 0 && !PG_ARGISNULL(nodes_argument))
    read_nodes(string_argument(fcinfo, nodes_argument), sink, function);
}

// Adds rows without NULLs to the call's result: fill(i, values) sets the values of the i-th.
template <class Fill>
void return_rows(FunctionCallInfo fcinfo, size_t rows, Fill &&fill) {
  auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
  constexpr size_t cost_of_row = 200;
  InterruptCounter interrupts;
  Datum values[4];
  bool nulls[4] = {};
  for (size_t i = 0; i < rows; ++i) {
    interrupts.add(cost_of_row);
    fill(i, values);
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
  }
}

[[noreturn]] void raise_argument(const char *function, const char *argument, const char *value,
                                 const char *hint) {
  ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s: %s is %s", function, argument, value),
                  errhint("%s", hint)));
  pg_unreachable();
}

// The arguments of pagerank, in order.
enum PageRankArgument {
  PageRank_edges,
  PageRank_damping,
  PageRank_method,
  PageRank_directed,
  PageRank_tolerance,
  PageRank_coupons,
  PageRank_seed,
  PageRank_nodes
};

void read_pagerank_arguments(FunctionCallInfo fcinfo, PageRankWork *work, const char *function) {
  work->use = PG_GETARG_BOOL(PageRank_directed) ? EdgeUse::directed : EdgeUse::undirected;
  work->damping = PG_GETARG_FLOAT8(PageRank_damping);
  if (!(work->damping >= 0 && work->damping < 1))
    raise_argument(function, "damping", float8out_internal(work->damping),
                   "It is a probability of at least 0 and below 1.");
  const char *method = string_argument(fcinfo, PageRank_method);
  work->random_walk = strcmp(method, "random_walk") == 0;
  if (!work->random_walk && strcmp(method, "power") != 0)
    raise_argument(function, "method", quote_literal_cstr(method), "The methods are power and random_walk.");
  work->tolerance = PG_GETARG_FLOAT8(PageRank_tolerance);
  if (!(work->tolerance > 0 && work->tolerance <= 1))
    raise_argument(function, "tolerance", float8out_internal(work->tolerance),
                   "It is a number above 0 and at most 1.");
  const int32 coupons = PG_GETARG_INT32(PageRank_coupons);
  if (coupons < 1)
    raise_argument(function, "coupons", psprintf("%d", coupons), "At least 1 walk starts from each node.");
  work->coupons = static_cast<uint32_t>(coupons);
  work->seed = static_cast<uint64_t>(PG_GETARG_INT64(PageRank_seed));
}

void run_pagerank(PageRankWork *work, WorkerPool &pool) {
  work->result.emplace(work->random_walk ? pagerank_random_walk(work->edges, work->use, work->damping,
                                                                work->coupons, work->seed, pool, work->memory)
                                         : pagerank_power(work->edges, work->use, work->damping,
                                                          work->tolerance, pool, work->memory));
}

// Finds the subgraph that the arguments (edges, k, method) of a call ask for.
const DenseSubgraph &find_densest(FunctionCallInfo fcinfo, MemoryContext context, const char *function) {
  const int32 k = PG_GETARG_INT32(1);
  if (k < 1) raise_argument(function, "k", psprintf("%d", k), "A subgraph has at least 1 node.");
  const char *name = string_argument(fcinfo, 2);
  size_t method = 0;
  while (method < std::size(densest_method_names) && densest_method_names[method] != name) ++method;
  if (method == std::size(densest_method_names))
    raise_argument(function, "method", quote_literal_cstr(name),
                   "The methods are auto, bilinear and greedy.");
  auto *work = own(context, [] { return std::make_unique<DensestWork>(); });
  read_graph(fcinfo, -1, &work->edges, function);
  run_interruptibly(context, [work, k, method](WorkerPool &pool) {
    work->result.emplace(densest_subgraph(work->edges, static_cast<uint32_t>(k),
                                          static_cast<DensestMethod>(method), pool, work->memory));
  });
  return *work->result;
}

}  // namespace
}  // namespace simjoin::pg

using namespace simjoin;
using namespace simjoin::pg;

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_connected_components);
Datum simjoin_connected_components(PG_FUNCTION_ARGS) {
  constexpr const char *function = "connected_components";
  constexpr int nodes_argument = 1;
  compat::begin_materialized_result(fcinfo);
  if (any_null(fcinfo, nodes_argument)) return 0;
  MemoryContext context = create_graph_context();
  auto *work = own(context, [] { return std::make_unique<ComponentsWork>(); });
  read_graph(fcinfo, nodes_argument, &work->finder, function);
  run_interruptibly(context,
                    [work](WorkerPool &pool) { work->result.emplace(work->finder.components(pool)); });
  const Components &components = *work->result;
  return_rows(fcinfo, components.nodes.size(), [&](size_t i, Datum *values) {
    values[0] = Int64GetDatum(components.components[i]);
    values[1] = Int64GetDatum(components.nodes[i]);
  });
  MemoryContextDelete(context);
  return 0;
}

PG_FUNCTION_INFO_V1(simjoin_pagerank);
Datum simjoin_pagerank(PG_FUNCTION_ARGS) {
  constexpr const char *function = "pagerank";
  compat::begin_materialized_result(fcinfo);
  if (any_null(fcinfo, PageRank_nodes)) return 0;
  MemoryContext context = create_graph_context();
  auto *work = own(context, [] { return std::make_unique<PageRankWork>(); });
  read_pagerank_arguments(fcinfo, work, function);
  read_graph(fcinfo, PageRank_nodes, &work->edges, function);
  run_interruptibly(context, [work](WorkerPool &pool) { run_pagerank(work, pool); });
  const Ranks &ranks = *work->result;
  return_rows(fcinfo, ranks.nodes.size(), [&](size_t i, Datum *values) {
    values[0] = Int64GetDatum(ranks.nodes[i]);
    values[1] = Float8GetDatum(ranks.ranks[i]);
  });
  MemoryContextDelete(context);
  return 0;
}

PG_FUNCTION_INFO_V1(simjoin_densest_subgraph);
Datum simjoin_densest_subgraph(PG_FUNCTION_ARGS) {
  compat::begin_materialized_result(fcinfo);
  MemoryContext context = create_graph_context();
  const DenseSubgraph &subgraph = find_densest(fcinfo, context, "densest_subgraph");
  return_rows(fcinfo, subgraph.nodes.size(), [&](size_t i, Datum *values) {
    values[0] = Int64GetDatum(subgraph.nodes[i]);
    values[1] = Float8GetDatum(subgraph.degrees[i]);
  });
  MemoryContextDelete(context);
  return 0;
}

PG_FUNCTION_INFO_V1(simjoin_densest_subgraph_density);
Datum simjoin_densest_subgraph_density(PG_FUNCTION_ARGS) {
  compat::begin_materialized_result(fcinfo);
  MemoryContext context = create_graph_context();
  const DenseSubgraph &subgraph = find_densest(fcinfo, context, "densest_subgraph_density");
  return_rows(fcinfo, 1, [&](size_t, Datum *values) {
    values[0] = Int32GetDatum(static_cast<int32>(subgraph.nodes.size()));
    values[1] = Float8GetDatum(subgraph.weight);
    values[2] = Float8GetDatum(subgraph.density);
    values[3] = Float8GetDatum(subgraph.upper_bound);
  });
  MemoryContextDelete(context);
  return 0;
}
}
