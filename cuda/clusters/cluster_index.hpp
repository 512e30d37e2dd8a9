// Clusters of documents on a GPU: the centroids, the lists of clusters and the search.
#pragma once

#include <cstddef>
#include <memory>

#include "core/clusters/cluster_device.hpp"

namespace simjoin {

// Returns an index on the current GPU that uses at most `memory_limit` bytes of its memory. 0 means most of
// the free memory.
std::unique_ptr<ClusterDevice> make_gpu_cluster_device(size_t memory_limit);

}  // namespace simjoin
