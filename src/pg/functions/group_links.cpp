// Which pairs hold a group together: the path between two of its rows, and the weakest pair of each group.
#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
}

#include <algorithm>
#include <optional>
#include <vector>

#include "core/graph/strongest_links.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/named_arguments.hpp"
#include "pg/computation/watch.hpp"
#include "pg/functions/edge_query.hpp"
#include "pg/functions/graph_computation.hpp"
#include "pg/query/result_rows.hpp"

namespace simjoin::pg {
namespace {

constexpr double operations_of_link = 20;  // for each pair

// A pair of a path, at its place from 1 on.
struct PathStep {
  int32 place;
  int64 from, to;  // ids, or the numbers of keys
  double similarity;
};

struct LinksWork : GraphComputation {
  using GraphComputation::GraphComputation;

  EdgeList pairs{memory};
  int64 own_nodes[2] = {};  // of the call, as the pairs have them
  std::optional<StrongestLinks> links;
  std::vector<HangingComponent> components;
  std::vector<PathStep> path;
};

// Reads the pairs of a call and finds the strongest links. Returns the keys, or nullptr.
RowKeys *find_links(const GraphCall &call, LinksWork *work, bool of_components, MemoryContext context) {
  ListSink sink(&work->pairs);
  RowKeys *keys = read_graph_of(call, &sink, work, context);
  note_work(context);
  const Buffer<int64_t> &lone = work->pairs.lone();
  std::copy(lone.begin(), lone.end(), work->own_nodes);
  compute(context, work, operations_of_link * static_cast<double>(work->pairs.size()),
          [work, of_components](WorkerPool &pool) {
            work->links.emplace(work->pairs, pool, work->memory);
            if (of_components) work->components = work->links->components(pool, work->memory);
          });
  note_end(context);
  return keys;
}

// Finds the steps of the path between the nodes of the call, the weakest first.
void find_path(LinksWork *work) {
  const Buffer<int64_t> &nodes = work->links->nodes();
  int64 at = work->own_nodes[0];
  int32 place = 0;
  for (const RankedPair &link : work->links->path(work->own_nodes[0], work->own_nodes[1], work->memory)) {
    const int64 a = nodes[link.left], b = nodes[link.right], next = a == at ? b : a;
    work->path.push_back({++place, at, next, link.similarity});
    at = next;
  }
  std::stable_sort(work->path.begin(), work->path.end(),
                   [](const PathStep &a, const PathStep &b) { return a.similarity < b.similarity; });
}

// Returns an id as a value of its type, a kind of integer.
Datum integer_id(int64 id, Oid type) {
  if (type == INT8OID) return Int64GetDatum(id);
  const int64 most = type == INT2OID ? PG_INT16_MAX : PG_INT32_MAX;
  if (id > most || id < -most - 1)
    ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                    errmsg("group_path: the path has the id %lld, which is out of range for type %s",
                           static_cast<long long>(id), format_type_be(type)),
                    errhint("Cast the ids of the call to bigint.")));
  return type == INT2OID ? Int16GetDatum(static_cast<int16>(id)) : Int32GetDatum(static_cast<int32>(id));
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_group_path);
Datum simjoin_group_path(PG_FUNCTION_ARGS) {
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null("group_path", {});
  const Oid type = getBaseType(result.column_type(1));
  const bool integers = is_id_type(type);
  Datum ids[] = {PG_GETARG_DATUM(1), PG_GETARG_DATUM(2)};
  if (integers)
    for (Datum &id : ids) id = Int64GetDatum(id_of(id, type));
  const GraphCall call = {{"group_path", arguments.string("pairs"), nullptr, true, ids, 2},
                          {"from_id", integers ? InvalidOid : result.column_type(1)}};
  MemoryContext context = create_graph_context();
  auto *work = create_graph_work<LinksWork>(context);
  RowKeys *keys = find_links(call, work, false, context);
  call_cpp([&] { find_path(work); });
  return_rows(work->path.size(), [&](size_t i) {
    const PathStep &step = work->path[i];
    const Datum from = integers ? integer_id(step.from, type) : key_at(keys, step.from, 0);
    const Datum to = integers ? integer_id(step.to, type) : key_at(keys, step.to, 1);
    result.add({Int32GetDatum(step.place), from, to, Float8GetDatum(step.similarity)});
  });
  close_row_keys(keys);
  MemoryContextDelete(context);
  return 0;
}

PG_FUNCTION_INFO_V1(simjoin_weakest_links);
Datum simjoin_weakest_links(PG_FUNCTION_ARGS) {
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null("weakest_links", {"key"});
  const GraphCall call = {{"weakest_links", arguments.string("pairs"), nullptr, true},
                          {"key", arguments.has("key") ? arguments.type("key") : InvalidOid}};
  MemoryContext context = create_graph_context();
  auto *work = create_graph_work<LinksWork>(context);
  RowKeys *keys = find_links(call, work, true, context);
  const Buffer<int64_t> &nodes = work->links->nodes();
  return_rows(work->components.size(), [&](size_t i) {
    const HangingComponent &group = work->components[i];
    // A reader of keys gives one key at a time, so a third one is a copy.
    const Form_pg_attribute column = TupleDescAttr(result.columns(), 0);
    const Datum id = datumCopy(key_at(keys, nodes[group.component], 0), column->attbyval, column->attlen);
    result.add({id, Int64GetDatum(group.nodes), key_at(keys, nodes[group.weakest.left], 0),
                key_at(keys, nodes[group.weakest.right], 1), Float8GetDatum(group.weakest.similarity),
                Int64GetDatum(group.nodes_at_left)});
    if (!column->attbyval) pfree(DatumGetPointer(id));
  });
  close_row_keys(keys);
  MemoryContextDelete(context);
  return 0;
}
}

}  // namespace simjoin::pg
