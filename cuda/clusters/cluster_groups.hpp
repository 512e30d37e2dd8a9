// Groups of related documents of a batch (core/clusters/cluster_relations.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/worker_pool.hpp"
#include "core/clusters/cluster_index.hpp"
#include "cuda/base/device.hpp"

namespace simjoin::gpu {

struct Documents;

// The limits that make two documents of a search related.
struct RelationLimits {
  uint32_t least;             // least similarity for joining a cluster
  uint32_t least_reach;       // least reach of any document
  const uint32_t *reaches;    // by document
  const FoundCluster *found;  // by document
};

// Sets groups[document] to the first document of its group, and returns true. Returns false if one group of
// all documents takes less time. All pointers are to device memory. The slots of `documents` must be
// numbered; there are `slots` of them. `longest` is the most terms of a document. Throws Cancelled.
bool group_documents(Device &device, const Documents &documents, size_t slots, uint32_t longest,
                     const RelationLimits &limits, uint32_t *groups, const StopFlag &stop);

}  // namespace simjoin::gpu
