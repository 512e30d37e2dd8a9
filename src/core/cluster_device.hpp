// What the device layer does for the clustering of documents: the index in device memory, and the search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/cluster_index.hpp"
#include "core/worker_pool.hpp"

namespace simjoin {

// Documents one behind the other, each by ascending term.
struct DocumentVectors {
  std::span<const TermWeight> terms;
  std::span<const uint64_t> ends;  // of each document's terms, from the first document on

  size_t size() const { return ends.size(); }
  uint64_t begin(size_t document) const { return document == 0 ? 0 : ends[document - 1]; }
  std::span<const TermWeight> operator[](size_t document) const {
    return terms.subspan(begin(document), ends[document] - begin(document));
  }
};

// A copy of a ClusterIndex on a device. Failures of the device are Errors of kind device_failure, too little
// device memory is limit_exceeded; afterwards only the destructor may be called. Functions throw Cancelled
// within 100 ms.
class ClusterDevice {
 public:
  virtual ~ClusterDevice() = default;
  // Makes the copy equal to the index, which has changed since the last call as it says.
  virtual void update(const ClusterIndex &index, const StopFlag &stop) = 0;
  // Gives for each document what ClusterSearch::find would.
  virtual void find(const DocumentVectors &documents, uint32_t least, FoundCluster *found,
                    const StopFlag &stop) = 0;
};

}  // namespace simjoin
