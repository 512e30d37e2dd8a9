#include "cuda/base/launch.cuh"
#include "cuda/graph/disjoint_sets.cuh"
#include "cuda/graph/kernels.hpp"

namespace simjoin::gpu {
namespace {

__global__ void unite_ends(const uint64_t *edges, uint64_t count, uint32_t *parents) {
  SIMJOIN_GRID_STRIDE(i, count)
  unite_sets(parents, static_cast<uint32_t>(edges[i] >> 32), static_cast<uint32_t>(edges[i]));
}

__global__ void start_sets(uint32_t *parents, uint64_t nodes) {
  SIMJOIN_GRID_STRIDE(node, nodes) parents[node] = static_cast<uint32_t>(node);
}

__global__ void flatten_sets(uint32_t *parents, uint64_t nodes) {
  SIMJOIN_GRID_STRIDE(node, nodes) {
    uint32_t root = parent_of(parents, static_cast<uint32_t>(node));
    for (uint32_t parent; (parent = parent_of(parents, root)) != root;) root = parent;
    parents[node] = root;
  }
}

__global__ void name_sets(const uint32_t *parents, uint64_t count, const int64_t *nodes, int64_t *names) {
  SIMJOIN_GRID_STRIDE(i, count) names[i] = nodes[parents[i]];
}

}  // namespace

DeviceSets::DeviceSets(Device &device, uint32_t nodes) : device_(device), parents_(device, nodes) {
  launch(device, start_sets, blocks_for(device, nodes), parents_.data(), uint64_t{nodes});
}

void DeviceSets::unite(const RankedEdges &ranked, uint64_t begin, uint64_t end) {
  launch(device_, unite_ends, blocks_for(device_, end - begin), ranked.edges.data() + begin, end - begin,
         parents_.data());
}

void DeviceSets::flatten() {
  launch(device_, flatten_sets, blocks_for(device_, parents_.size()), parents_.data(),
         uint64_t{parents_.size()});
}

void DeviceSets::name(const DeviceBuffer<int64_t> &nodes, int64_t *names) {
  launch(device_, name_sets, blocks_for(device_, nodes.size()), parents_.data(), uint64_t{nodes.size()},
         nodes.data(), names);
}

}  // namespace simjoin::gpu
