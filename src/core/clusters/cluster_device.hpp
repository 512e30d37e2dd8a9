// Clustering of documents on a GPU: the index in device memory, and the search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/worker_pool.hpp"
#include "core/clusters/cluster_index.hpp"

namespace simjoin {

// Documents one behind the other, each by ascending term, some with unused room behind it.
struct DocumentVectors {
  std::span<const TermWeight> terms;
  std::span<const uint64_t> ends;  // of each document's room; `terms` begins at this number of terms:
  uint64_t before;
  std::span<const uint32_t> sizes;    // the number of terms of each document
  std::span<const uint32_t> reaches;  // core/clusters/cluster_relations.hpp; empty if no groups are wanted

  size_t size() const { return ends.size(); }
  uint64_t begin(size_t document) const { return document == 0 ? 0 : ends[document - 1] - before; }
  std::span<const TermWeight> operator[](size_t document) const {
    return terms.subspan(begin(document), sizes[document]);
  }
};

// The lists of a ClusterIndex that has given them away, and a copy of its centroids, on a device. Failures of
// the device are Errors of kind device_failure, too little device memory is limit_exceeded; afterwards only
// the destructor may be called. Functions throw Cancelled within 100 ms.
class ClusterDevice {
 public:
  virtual ~ClusterDevice() = default;
  // Brings the copy up to the index. The first call takes all of it, later calls the changes that the index
  // reports. A find() comes between two calls.
  virtual void update(const ClusterIndex &index, const StopFlag &stop) = 0;
  // Gives for each document what ClusterSearch::find would and, where `groups` is not null, the first
  // document of its group. Related documents (core/clusters/cluster_relations.hpp) are in one group; groups
  // may be larger than that takes, as where there is too little device memory to find out more.
  virtual void find(const DocumentVectors &documents, uint32_t least, FoundCluster *found, uint32_t *groups,
                    const StopFlag &stop) = 0;
};

}  // namespace simjoin
