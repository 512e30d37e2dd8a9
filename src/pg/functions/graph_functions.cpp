// Functions over graphs whose edges a query returns: components, PageRank, dense subgraphs.
#include "pg/base/pg.hpp"

extern "C" {
#include "utils/builtins.h"
#include "utils/memutils.h"
}

#include <optional>

#include "pg/base/arguments.hpp"
#include "pg/base/computation_memory.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/named_arguments.hpp"
#include "pg/computation/gpu_notices.hpp"
#include "pg/computation/watch.hpp"
#include "pg/functions/edge_query.hpp"
#include "pg/functions/graph_computation.hpp"
#include "pg/query/result_rows.hpp"

namespace simjoin::pg {
namespace {

constexpr double operations_of_densest = 100;  // for each edge

struct ComponentsWork : GraphComputation {
  using GraphComputation::GraphComputation;

  ComponentWork components{work, memory.limit() / 4, memory};
  size_t rows = 0;
  std::optional<Components> result;
};

struct PageRankWork : GraphComputation {
  using GraphComputation::GraphComputation;

  EdgeList edges{memory};
  PageRankSpec spec;
  std::optional<Ranks> result;
};

struct DensestWork : GraphComputation {
  using GraphComputation::GraphComputation;

  EdgeList edges{memory};
  uint32_t k = 0;
  DensestMethod method = DensestMethod::automatic;
  std::optional<DenseSubgraph> result;
};

double rows_of(const EdgeList &edges) {
  return static_cast<double>(edges.size() + edges.lone().size());
}

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

// Returns the call of a function. Nodes are of the type of its key, or integers.
GraphCall call_with(const NamedArguments &arguments, const char *function) {
  return {{function, arguments.string("edges"), arguments.optional_string("nodes")},
          {"key", arguments.has("key") ? arguments.type("key") : InvalidOid}};
}

// Returns what the arguments of a call ask for.
PageRankSpec pagerank_arguments(const NamedArguments &arguments, const char *function) {
  PageRankSpec spec;
  spec.use = arguments.boolean("directed") ? EdgeUse::directed : EdgeUse::undirected;
  spec.damping = arguments.real("damping");
  if (!(spec.damping >= 0 && spec.damping < 1))
    raise_argument(function, "damping", spec.damping, "It is a probability of at least 0 and below 1.");
  const char *method = arguments.string("method");
  spec.random_walk = strcmp(method, "random_walk") == 0;
  if (!spec.random_walk && strcmp(method, "power") != 0)
    raise_argument(function, "method", quote_literal_cstr(method), "The methods are power and random_walk.");
  spec.tolerance = arguments.real("tolerance");
  check_share(spec.tolerance, function, "tolerance");
  const int32 coupons = arguments.integer("coupons");
  check_count(coupons, INT_MAX, function, "coupons", "At least 1 walk starts from each node.");
  spec.coupons = static_cast<uint32_t>(coupons);
  spec.seed = static_cast<uint64_t>(arguments.bigint("seed"));
  return spec;
}

// Returns the components of the call's graph.
void return_components(const GraphCall &call, ResultRows *result) {
  MemoryContext context = create_graph_context();
  auto *work = create_graph_work<ComponentsWork>(context);
  ComponentSink sink(work, context);
  RowKeys *keys = read_graph_of(call, &sink, work, context);
  note_work(context);
  compute(context, work, static_cast<double>(work->rows),
          [work](WorkerPool &pool) { work->result.emplace(work->components.components(pool)); });
  note_end(context);
  report_device(call.queries.function, work->work.attempt);
  const Components &components = *work->result;
  return_rows(components.nodes.size(), [&](size_t i) {
    result->add({key_at(keys, components.components[i], 0), key_at(keys, components.nodes[i], 1)});
  });
  close_row_keys(keys);
  MemoryContextDelete(context);
}

// Returns the ranks of the call's nodes.
void return_ranks(const GraphCall &call, const PageRankSpec &spec, ResultRows *result) {
  MemoryContext context = create_graph_context();
  auto *work = create_graph_work<PageRankWork>(context);
  work->spec = spec;
  ListSink sink(&work->edges);
  RowKeys *keys = read_graph_of(call, &sink, work, context);
  const double rounds = spec.random_walk
                            ? spec.coupons / (1 - spec.damping)
                            : static_cast<double>(most_power_steps(spec.damping, spec.tolerance));
  note_work(context);
  compute(context, work, rounds * rows_of(work->edges), [work](WorkerPool &pool) {
    work->result.emplace(pagerank(work->edges, work->spec, work->work, pool, work->memory));
  });
  note_end(context);
  report_device(call.queries.function, work->work.attempt);
  const Ranks &ranks = *work->result;
  return_rows(ranks.nodes.size(), [&](size_t i) {
    result->add({key_at(keys, ranks.nodes[i], 0), Float8GetDatum(ranks.ranks[i])});
  });
  close_row_keys(keys);
  MemoryContextDelete(context);
}

// A dense subgraph, and the keys of its nodes. They belong to the context.
struct FoundSubgraph {
  MemoryContext context;
  RowKeys *keys;
  const DenseSubgraph *subgraph;
};

// Finds the subgraph that a call asks for.
FoundSubgraph find_densest(const NamedArguments &arguments, const char *function) {
  const GraphCall call = call_with(arguments, function);
  const int32 k = arguments.integer("k");
  check_count(k, INT_MAX, function, "k", "A subgraph has at least 1 node.");
  const char *name = arguments.string("method");
  size_t method = 0;
  while (method < std::size(densest_method_names) && densest_method_names[method] != name) ++method;
  if (method == std::size(densest_method_names))
    raise_argument(function, "method", quote_literal_cstr(name),
                   "The methods are auto, bilinear and greedy.");
  MemoryContext context = create_graph_context();
  auto *work = create_graph_work<DensestWork>(context);
  work->k = static_cast<uint32_t>(k);
  work->method = static_cast<DensestMethod>(method);
  ListSink sink(&work->edges);
  RowKeys *keys = read_graph_of(call, &sink, work, context);
  note_work(context);
  compute(context, work, operations_of_densest * rows_of(work->edges), [work](WorkerPool &pool) {
    work->result.emplace(
        densest_subgraph(work->edges, work->k, work->method, work->work, pool, work->memory));
  });
  note_end(context);
  report_device(function, work->work.attempt);
  return {context, keys, &*work->result};
}

void end_densest(const FoundSubgraph &found) {
  close_row_keys(found.keys);
  MemoryContextDelete(found.context);
}

void return_subgraph(const FoundSubgraph &found, ResultRows *result) {
  return_rows(found.subgraph->nodes.size(), [&](size_t i) {
    result->add(
        {key_at(found.keys, found.subgraph->nodes[i], 0), Float8GetDatum(found.subgraph->degrees[i])});
  });
  end_densest(found);
}

void return_density(const FoundSubgraph &found, ResultRows *result) {
  const DenseSubgraph &subgraph = *found.subgraph;
  result->add({Int32GetDatum(static_cast<int32>(subgraph.nodes.size())), Float8GetDatum(subgraph.weight),
               Float8GetDatum(subgraph.density), Float8GetDatum(subgraph.upper_bound)});
  end_densest(found);
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_connected_components);
Datum simjoin_connected_components(PG_FUNCTION_ARGS) {
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null("connected_components", {"key", "nodes"});
  return_components(call_with(arguments, "connected_components"), &result);
  return 0;
}

PG_FUNCTION_INFO_V1(simjoin_pagerank);
Datum simjoin_pagerank(PG_FUNCTION_ARGS) {
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null("pagerank", {"key", "nodes"});
  const GraphCall call = call_with(arguments, "pagerank");
  return_ranks(call, pagerank_arguments(arguments, "pagerank"), &result);
  return 0;
}

PG_FUNCTION_INFO_V1(simjoin_densest_subgraph);
Datum simjoin_densest_subgraph(PG_FUNCTION_ARGS) {
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null("densest_subgraph", {"key"});
  return_subgraph(find_densest(arguments, "densest_subgraph"), &result);
  return 0;
}

PG_FUNCTION_INFO_V1(simjoin_densest_subgraph_density);
Datum simjoin_densest_subgraph_density(PG_FUNCTION_ARGS) {
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null("densest_subgraph_density", {"key"});
  return_density(find_densest(arguments, "densest_subgraph_density"), &result);
  return 0;
}
}

}  // namespace simjoin::pg
