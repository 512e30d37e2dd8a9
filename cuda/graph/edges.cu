#include "cuda/graph/edges.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/base/error.hpp"
#include "cuda/base/binary_search.cuh"
#include "cuda/base/launch.cuh"
#include "cuda/graph/sort.hpp"

namespace simjoin::gpu {
namespace {

// Flipping this bit makes signed numbers sort as unsigned ones.
constexpr uint64_t sign_bit = uint64_t{1} << 63;
// A bitmap of all possible nodes replaces sorting if it has at most `bits_per_node` bits for each end of an
// edge, or fewer than `bits_in_cache` bits. A bitmap of that size fits in the cache of any GPU.
constexpr uint64_t bits_per_node = 64;
constexpr uint64_t bits_in_cache = uint64_t{1} << 26;
constexpr uint64_t most_nodes = UINT32_MAX - 1;

__device__ uint32_t upper(uint64_t edge) {
  return static_cast<uint32_t>(edge >> 32);
}
__device__ uint32_t lower(uint64_t edge) {
  return static_cast<uint32_t>(edge);
}
__host__ __device__ uint64_t packed(uint32_t from, uint32_t to) {
  return uint64_t{from} << 32 | to;
}

__device__ void mark(uint32_t *bitmap, uint32_t node) {
  const uint32_t bit = 1u << (node % 32);
  if ((bitmap[node / 32] & bit) == 0) atomicOr(&bitmap[node / 32], bit);
}

__global__ void mark_nodes(const uint64_t *edges, uint64_t count, uint32_t *bitmap) {
  SIMJOIN_GRID_STRIDE(i, count) {
    mark(bitmap, upper(edges[i]));
    mark(bitmap, lower(edges[i]));
  }
}

__global__ void count_marked(const uint32_t *bitmap, uint64_t words, uint32_t *counts) {
  SIMJOIN_GRID_STRIDE(i, words + 1) counts[i] = i < words ? __popc(bitmap[i]) : 0;
}

__device__ uint32_t rank_in(const uint32_t *bitmap, const uint32_t *before, uint32_t node) {
  return before[node / 32] + __popc(bitmap[node / 32] & ((1u << (node % 32)) - 1));
}

__global__ void rank_marked(uint64_t *edges, uint64_t count, const uint32_t *bitmap, const uint32_t *before) {
  SIMJOIN_GRID_STRIDE(i, count) {
    edges[i] = packed(rank_in(bitmap, before, upper(edges[i])), rank_in(bitmap, before, lower(edges[i])));
  }
}

__global__ void list_marked(const uint32_t *bitmap, uint64_t words, const uint32_t *before, int64_t least,
                            int64_t *nodes) {
  SIMJOIN_GRID_STRIDE(i, words) {
    uint32_t place = before[i];
    for (uint32_t bits = bitmap[i]; bits != 0; bits &= bits - 1)
      nodes[place++] = static_cast<int64_t>(static_cast<uint64_t>(least) + i * 32 + __ffs(bits) - 1);
  }
}

__global__ void number_places(uint64_t *places, uint64_t count) {
  SIMJOIN_GRID_STRIDE(i, count) places[i] = i;
}

// firsts[i] = 1 for the first of equal keys in sorted order, else 0. The last element is 0.
__global__ void mark_firsts(const uint64_t *keys, uint64_t count, uint32_t *firsts) {
  SIMJOIN_GRID_STRIDE(i, count + 1) {
    firsts[i] = i < count && (i == 0 || keys[i] != keys[i - 1]) ? 1 : 0;
  }
}

// `before` has the number of firsts before each key.
__global__ void rank_sorted(const uint64_t *keys, const uint64_t *places, uint64_t count,
                            const uint32_t *before, uint32_t *ranks, int64_t *nodes) {
  SIMJOIN_GRID_STRIDE(i, count) {
    const bool first = before[i + 1] != before[i];
    const uint32_t rank = before[i + 1] - 1;
    // The two ends of an edge are the halves of a word, and `from` is the upper half.
    ranks[places[i] ^ 1] = rank;
    if (first) nodes[rank] = static_cast<int64_t>(keys[i] ^ sign_bit);
  }
}

// A dropped entry gets `none`: a node of its own behind all others.
__global__ void make_entries(const uint64_t *edges, const uint64_t *weights, uint64_t count, bool both_ways,
                             uint64_t none, uint64_t *entries, uint64_t *entry_weights) {
  SIMJOIN_GRID_STRIDE(i, count) {
    const uint64_t edge = edges[i];
    const bool dropped = weights != nullptr && weights[i] == 0;
    entries[i] = dropped ? none : edge;
    if (weights != nullptr) entry_weights[i] = weights[i];
    if (!both_ways) continue;
    const uint32_t from = upper(edge), to = lower(edge);
    entries[count + i] = dropped || from == to ? none : packed(to, from);
    if (weights != nullptr) entry_weights[count + i] = weights[i];
  }
}

__global__ void find_offsets(const uint64_t *entries, uint64_t count, uint32_t nodes, uint64_t *offsets) {
  SIMJOIN_GRID_STRIDE(node, uint64_t{nodes} + 1)
  offsets[node] = lower_bound(entries, uint64_t{0}, count, node << 32);
}

__global__ void split_entries(const uint64_t *entries, const uint64_t *bits, uint64_t count,
                              uint32_t *targets, double *weights) {
  SIMJOIN_GRID_STRIDE(i, count) {
    targets[i] = lower(entries[i]);
    if (bits != nullptr) weights[i] = __longlong_as_double(static_cast<long long>(bits[i]));
  }
}

__global__ void swap_entries(uint64_t *entries, const double *weights, uint64_t count, uint64_t *bits) {
  SIMJOIN_GRID_STRIDE(i, count) {
    entries[i] = packed(lower(entries[i]), upper(entries[i]));
    if (weights != nullptr) bits[i] = static_cast<uint64_t>(__double_as_longlong(weights[i]));
  }
}

void check_nodes(uint64_t count) {
  if (count > most_nodes)
    throw Error(ErrorKind::limit_exceeded, "the graph has more nodes than a GPU can number");
}

// Ranks nodes with a bitmap of all numbers between the smallest and the greatest node.
RankedEdges rank_by_bitmap(Device &device, Staging &staging, const EdgeList &edges, uint64_t range) {
  RankedEdges result;
  const uint64_t words = range / 32 + 1;
  const auto least = static_cast<uint64_t>(edges.least());
  const auto offset = [least](int64_t node) {
    return static_cast<uint32_t>(static_cast<uint64_t>(node) - least);
  };
  DeviceBuffer<uint32_t> bitmap(device, words), before(device, words + 1);
  bitmap.fill(0);
  result.count = edges.size();
  result.edges = DeviceBuffer<uint64_t>(device, edges.size() + edges.lone().size());
  uint64_t *data = result.edges.data();
  const auto marked = [&](uint64_t *first) {
    return [&device, &bitmap, first](size_t begin, size_t end) {
      launch(device, mark_nodes, blocks_for(device, end - begin), first + begin, uint64_t{end - begin},
             bitmap.data());
    };
  };
  const int64_t *ends = edges.ends().begin(), *lone = edges.lone().begin();
  staging.upload(
      data, edges.size(), [=](size_t i) { return packed(offset(ends[2 * i]), offset(ends[2 * i + 1])); },
      marked(data));
  staging.upload(
      data + edges.size(), edges.lone().size(),
      [=](size_t i) { return packed(offset(lone[i]), offset(lone[i])); }, marked(data + edges.size()));
  launch(device, count_marked, blocks_for(device, words + 1), bitmap.data(), words, before.data());
  sum_before(device, before);
  launch(device, rank_marked, blocks_for(device, result.edges.size()), data, uint64_t{result.edges.size()},
         bitmap.data(), before.data());
  const uint32_t nodes = read_value(device, before.data() + words);
  check_nodes(nodes);
  result.nodes = DeviceBuffer<int64_t>(device, nodes);
  launch(device, list_marked, blocks_for(device, words), bitmap.data(), words, before.data(), edges.least(),
         result.nodes.data());
  return result;
}

// Ranks nodes by sorting the ends of all edges.
RankedEdges rank_by_sorting(Device &device, Staging &staging, const EdgeList &edges) {
  RankedEdges result;
  const uint64_t count = edges.size() + edges.lone().size();
  DeviceBuffer<uint64_t> keys(device, 2 * count), places(device, 2 * count);
  const int64_t *ends = edges.ends().begin(), *lone = edges.lone().begin();
  const auto key = [](int64_t node) { return static_cast<uint64_t>(node) ^ sign_bit; };
  staging.upload(keys.data(), 2 * edges.size(), [=](size_t i) { return key(ends[i]); });
  staging.upload(keys.data() + 2 * edges.size(), 2 * edges.lone().size(),
                 [=](size_t i) { return key(lone[i / 2]); });
  launch(device, number_places, blocks_for(device, 2 * count), places.data(), 2 * count);
  sort_pairs(device, keys, places, 64);
  DeviceBuffer<uint32_t> before(device, 2 * count + 1);
  launch(device, mark_firsts, blocks_for(device, 2 * count + 1), keys.data(), 2 * count, before.data());
  const uint64_t nodes = sum_of(device, before);
  check_nodes(nodes);  // ranks have 32 bits, so this must come first
  sum_before(device, before);
  result.count = edges.size();
  result.edges = DeviceBuffer<uint64_t>(device, count);
  result.nodes = DeviceBuffer<int64_t>(device, nodes);
  launch(device, rank_sorted, blocks_for(device, 2 * count), keys.data(), places.data(), 2 * count,
         before.data(), reinterpret_cast<uint32_t *>(result.edges.data()), result.nodes.data());
  return result;
}

}  // namespace

RankedEdges upload_edges(Device &device, Staging &staging, const EdgeList &edges, const StopFlag &stop) {
  const uint64_t ends = 2 * edges.size() + edges.lone().size();
  const uint64_t range = static_cast<uint64_t>(edges.greatest()) - static_cast<uint64_t>(edges.least());
  RankedEdges result;
  if (ends == 0) return result;
  const bool close = range < UINT32_MAX && (range < bits_in_cache || range / bits_per_node < ends);
  result = close ? rank_by_bitmap(device, staging, edges, range) : rank_by_sorting(device, staging, edges);
  device.synchronize();
  stop.check();
  return result;
}

Entries sorted_entries(Device &device, Staging &staging, RankedEdges &ranked, const EdgeList &edges,
                       bool both_ways, const StopFlag &stop) {
  Entries result;
  result.nodes = static_cast<uint32_t>(ranked.nodes.size());
  const uint64_t none = uint64_t{result.nodes} << 32;
  const uint64_t count = both_ways ? 2 * ranked.count : ranked.count;
  DeviceBuffer<uint64_t> weights(device, edges.weighted() ? ranked.count : 0);
  staging.upload(weights.data(), weights.size(),
                 [&](size_t i) { return std::bit_cast<uint64_t>(edges.weight(i) + 0.0); });
  result.entries = DeviceBuffer<uint64_t>(device, count);
  result.weights = DeviceBuffer<uint64_t>(device, edges.weighted() ? count : 0);
  launch(device, make_entries, blocks_for(device, ranked.count), ranked.edges.data(), weights.data(),
         uint64_t{ranked.count}, both_ways, none, result.entries.data(), result.weights.data());
  weights.reset();
  ranked.edges.reset();
  const int bits = 32 + std::bit_width(result.nodes);
  if (edges.weighted()) {
    // Sorts by weight, then by nodes. Weights are not negative, so they sort as their bits.
    sort_pairs(device, result.weights, result.entries, 64);
    stop.check();
    sort_pairs(device, result.entries, result.weights, bits);
  } else {
    sort_keys(device, result.entries, bits);
  }
  device.synchronize();
  stop.check();
  return result;
}

DeviceGraph lists_of(Device &device, const Entries &entries) {
  DeviceGraph graph;
  graph.nodes = entries.nodes;
  graph.offsets = DeviceBuffer<uint64_t>(device, size_t{entries.nodes} + 1);
  launch(device, find_offsets, blocks_for(device, size_t{entries.nodes} + 1), entries.entries.data(),
         uint64_t{entries.entries.size()}, entries.nodes, graph.offsets.data());
  const uint64_t count = read_value(device, graph.offsets.data() + entries.nodes);
  graph.targets = DeviceBuffer<uint32_t>(device, count);
  graph.weights = DeviceBuffer<double>(device, entries.weights.empty() ? 0 : count);
  launch(device, split_entries, blocks_for(device, count), entries.entries.data(), entries.weights.data(),
         count, graph.targets.data(), graph.weights.data());
  return graph;
}

void turn_around(Device &device, Entries &entries, const DeviceGraph &graph) {
  const uint64_t count = graph.entries();
  launch(device, swap_entries, blocks_for(device, count), entries.entries.data(), graph.weights.data(), count,
         entries.weights.data());
  const int bits = 32 + std::bit_width(entries.nodes);
  if (entries.weights.empty())
    sort_keys(device, entries.entries, bits);
  else
    sort_pairs(device, entries.entries, entries.weights, bits);
}

}  // namespace simjoin::gpu
