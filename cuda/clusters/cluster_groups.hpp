// Groups of related documents (core/clusters/cluster_relations.hpp) of a batch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/worker_pool.hpp"
#include "core/clusters/cluster_index.hpp"
#include "cuda/base/device.hpp"

namespace simjoin::gpu {

struct Documents;

// The relations of a search's documents.
struct RelationLimits {
  uint32_t least;             // the similarity that joining takes
  uint32_t least_reach;       // of any document
  const uint32_t *reaches;    // of each document
  const FoundCluster *found;  // by each document
};

// Sets groups[document] to the first document of its group, and returns true; or returns false where one
// group of all of them takes less time. All pointers are to device memory; `slots`: of the documents, which
// are numbered; `longest`: the most terms that one has. Throws Cancelled.
bool group_documents(Device &device, const Documents &documents, size_t slots, uint32_t longest,
                     const RelationLimits &limits, uint32_t *groups, const StopFlag &stop);

}  // namespace simjoin::gpu
