// Functions over graphs whose edges a query returns: components, PageRank, dense subgraphs.
#include "pg/base/pg.hpp"

extern "C" {
#include "utils/builtins.h"
#include "utils/memutils.h"
}

#include <optional>

#include "core/graph/graph_work.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/background.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/gpu_notices.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/base/result_rows.hpp"
#include "pg/base/settings.hpp"
#include "pg/functions/edge_query.hpp"

namespace simjoin::pg {
namespace {

// The session itself does up to this many operations, of some 100 ns each. Starting threads takes as long as
// some thousand of them, and no interrupt waits long.
constexpr double few_operations = 20000;
constexpr double operations_of_densest = 100;  // for each edge

// What every computation has beside its edges and its result.
struct Work {
  Work() { memory.set_limit(Settings::memory_limit(), {"the graph needs", "leave edges out"}); }

  MemoryCounter memory;
  GraphWork work{Settings::device(), Settings::gpu_memory_limit()};
};

struct ComponentsWork : Work {
  ComponentWork components{work, memory.limit() / 4, memory};
  size_t rows = 0;
  std::optional<Components> result;
};

struct PageRankWork : Work {
  EdgeList edges{memory};
  PageRankSpec spec;
  std::optional<Ranks> result;
};

struct DensestWork : Work {
  EdgeList edges{memory};
  uint32_t k = 0;
  DensestMethod method = DensestMethod::automatic;
  std::optional<DenseSubgraph> result;
};

double rows_of(const EdgeList &edges) {
  return static_cast<double>(edges.size() + edges.lone().size());
}

// Runs body(pool) for the work, which belongs to the context. Tells the session where the computation leaves
// a GPU.
template <class Body>
void compute(MemoryContext context, Work *work, double operations, Body &&body) {
  prepare_gpu_use();
  if (operations <= few_operations)
    call_cpp([&] {
      const StopFlag never;
      WorkerPool pool(1, never);
      body(pool);
    });
  else
    run_interruptibly(context, body);
  report_gpu_notice_of(&work->work.attempt);
}

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

// Takes edges for components. Edges that are held back for a GPU are joined once they are many.
class ComponentSink : public EdgeSink {
 public:
  ComponentSink(ComponentsWork *work, MemoryContext context) : work_(work), context_(context) {}

  void add_edge(int64 from, int64 to) override {
    ++work_->rows;
    work_->components.add_edge(from, to);
  }
  void add_node(int64 node) override {
    ++work_->rows;
    work_->components.add_node(node);
  }
  void make_room() override {
    if (!work_->components.full()) return;
    ComponentsWork *work = work_;  // what the computation refers to must not lie on the stack
    compute(context_, work, static_cast<double>(work->rows),
            [work](WorkerPool &pool) { work->components.make_room(pool); });
  }

 private:
  ComponentsWork *work_;
  MemoryContext context_;  // of the work
};

MemoryContext create_graph_context() {
  return AllocSetContextCreate(CurrentMemoryContext, "graph", ALLOCSET_DEFAULT_SIZES);
}

// Reads the query for edges, and that for nodes unless it is NULL.
void read_graph(FunctionCallInfo fcinfo, int nodes_argument, EdgeSink *sink, const char *function) {
  read_edges(string_argument(fcinfo, 0), sink, function);
  if (nodes_argument >= 0 && !PG_ARGISNULL(nodes_argument))
    read_nodes(string_argument(fcinfo, nodes_argument), sink, function);
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

PageRankSpec pagerank_arguments(FunctionCallInfo fcinfo, const char *function) {
  PageRankSpec spec;
  spec.use = PG_GETARG_BOOL(PageRank_directed) ? EdgeUse::directed : EdgeUse::undirected;
  spec.damping = PG_GETARG_FLOAT8(PageRank_damping);
  if (!(spec.damping >= 0 && spec.damping < 1))
    raise_argument(function, "damping", spec.damping, "It is a probability of at least 0 and below 1.");
  const char *method = string_argument(fcinfo, PageRank_method);
  spec.random_walk = strcmp(method, "random_walk") == 0;
  if (!spec.random_walk && strcmp(method, "power") != 0)
    raise_argument(function, "method", quote_literal_cstr(method), "The methods are power and random_walk.");
  spec.tolerance = PG_GETARG_FLOAT8(PageRank_tolerance);
  check_share(spec.tolerance, function, "tolerance");
  const int32 coupons = PG_GETARG_INT32(PageRank_coupons);
  check_count(coupons, INT_MAX, function, "coupons", "At least 1 walk starts from each node.");
  spec.coupons = static_cast<uint32_t>(coupons);
  spec.seed = static_cast<uint64_t>(PG_GETARG_INT64(PageRank_seed));
  return spec;
}

// Finds the subgraph that the arguments (edges, k, method) of a call ask for.
const DenseSubgraph &find_densest(FunctionCallInfo fcinfo, MemoryContext context, const char *function) {
  const int32 k = PG_GETARG_INT32(1);
  check_count(k, INT_MAX, function, "k", "A subgraph has at least 1 node.");
  const char *name = string_argument(fcinfo, 2);
  size_t method = 0;
  while (method < std::size(densest_method_names) && densest_method_names[method] != name) ++method;
  if (method == std::size(densest_method_names))
    raise_argument(function, "method", quote_literal_cstr(name),
                   "The methods are auto, bilinear and greedy.");
  auto *work = own(context, [] { return std::make_unique<DensestWork>(); });
  work->k = static_cast<uint32_t>(k);
  work->method = static_cast<DensestMethod>(method);
  ListSink sink(&work->edges);
  read_edges(string_argument(fcinfo, 0), &sink, function);
  compute(context, work, operations_of_densest * rows_of(work->edges), [work](WorkerPool &pool) {
    work->result.emplace(
        densest_subgraph(work->edges, work->k, work->method, work->work, pool, work->memory));
  });
  report_device(function, work->work.attempt);
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
  ResultRows result(fcinfo);
  if (any_null(fcinfo, {nodes_argument})) return 0;
  MemoryContext context = create_graph_context();
  auto *work = own(context, [] { return std::make_unique<ComponentsWork>(); });
  ComponentSink sink(work, context);
  read_graph(fcinfo, nodes_argument, &sink, function);
  compute(context, work, static_cast<double>(work->rows),
          [work](WorkerPool &pool) { work->result.emplace(work->components.components(pool)); });
  report_device(function, work->work.attempt);
  const Components &components = *work->result;
  return_rows(components.nodes.size(), [&](size_t i) {
    result.add({Int64GetDatum(components.components[i]), Int64GetDatum(components.nodes[i])});
  });
  MemoryContextDelete(context);
  return 0;
}

PG_FUNCTION_INFO_V1(simjoin_pagerank);
Datum simjoin_pagerank(PG_FUNCTION_ARGS) {
  constexpr const char *function = "pagerank";
  ResultRows result(fcinfo);
  if (any_null(fcinfo, {PageRank_nodes})) return 0;
  MemoryContext context = create_graph_context();
  const PageRankSpec spec = pagerank_arguments(fcinfo, function);
  auto *work = own(context, [] { return std::make_unique<PageRankWork>(); });
  work->spec = spec;
  ListSink sink(&work->edges);
  read_graph(fcinfo, PageRank_nodes, &sink, function);
  const double rounds = spec.random_walk
                            ? spec.coupons / (1 - spec.damping)
                            : static_cast<double>(most_power_steps(spec.damping, spec.tolerance));
  compute(context, work, rounds * rows_of(work->edges), [work](WorkerPool &pool) {
    work->result.emplace(pagerank(work->edges, work->spec, work->work, pool, work->memory));
  });
  report_device(function, work->work.attempt);
  const Ranks &ranks = *work->result;
  return_rows(ranks.nodes.size(), [&](size_t i) {
    result.add({Int64GetDatum(ranks.nodes[i]), Float8GetDatum(ranks.ranks[i])});
  });
  MemoryContextDelete(context);
  return 0;
}

PG_FUNCTION_INFO_V1(simjoin_densest_subgraph);
Datum simjoin_densest_subgraph(PG_FUNCTION_ARGS) {
  ResultRows result(fcinfo);
  MemoryContext context = create_graph_context();
  const DenseSubgraph &subgraph = find_densest(fcinfo, context, "densest_subgraph");
  return_rows(subgraph.nodes.size(), [&](size_t i) {
    result.add({Int64GetDatum(subgraph.nodes[i]), Float8GetDatum(subgraph.degrees[i])});
  });
  MemoryContextDelete(context);
  return 0;
}

PG_FUNCTION_INFO_V1(simjoin_densest_subgraph_density);
Datum simjoin_densest_subgraph_density(PG_FUNCTION_ARGS) {
  ResultRows result(fcinfo);
  MemoryContext context = create_graph_context();
  const DenseSubgraph &subgraph = find_densest(fcinfo, context, "densest_subgraph_density");
  result.add({Int32GetDatum(static_cast<int32>(subgraph.nodes.size())), Float8GetDatum(subgraph.weight),
              Float8GetDatum(subgraph.density), Float8GetDatum(subgraph.upper_bound)});
  MemoryContextDelete(context);
  return 0;
}
}
