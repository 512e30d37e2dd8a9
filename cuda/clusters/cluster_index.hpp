// The clustering of documents on a GPU: lists of clusters and centroids in device memory, and the search.
#pragma once

#include <cstddef>
#include <memory>

#include "core/clusters/cluster_device.hpp"

namespace simjoin {

// Returns an index on the current GPU, within so many bytes of its memory; 0 = most of what is free.
std::unique_ptr<ClusterDevice> make_gpu_cluster_device(size_t memory_limit);

}  // namespace simjoin
