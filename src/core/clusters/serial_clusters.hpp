// Clusters that change with each document, and merged clusters.
//
// The serial algorithm takes many documents at a time. All threads or a device first search for all documents
// of a window. Then each document in turn looks at what has changed since: the clusters touched by the
// documents before it in the window. What the first search has found is right unless it is a cluster touched
// since. Even then the document needs no other search if a touched cluster is now more similar than that one
// was: all other clusters were less similar, and still are.
//
// Clusters that are merged look for similar ones in their order, each at the current state of all clusters.
// All threads look before, at the state at the end of the batch. A cluster that found nothing then need not
// look again: any cluster that has changed since has looked itself, and similarities are symmetric.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/clusters/cluster_state.hpp"
#include "core/clusters/document_round.hpp"

namespace simjoin {

class SerialClusters {
 public:
  explicit SerialClusters(ClusterState &state);

  // Returns how many documents are searched for at a time. The result does not depend on it.
  static size_t window(size_t workers, bool on_gpu);
  // Lets the documents of a window, for which a search has found clusters, join clusters or begin some.
  void assign(DocumentRound &round, size_t begin, size_t end, const StopFlag &stop);

  // Merges these clusters, which have changed, with similar ones.
  void merge(const Buffer<uint32_t> &looking, WorkerPool &pool);

 private:
  FoundCluster find_now(const DocumentRound &round, size_t document, const StopFlag &stop);
  void assign_now(DocumentRound &round, size_t document, const StopFlag &stop);
  void merge_from(uint32_t cluster, const StopFlag &stop);
  uint32_t unite(uint32_t a, uint32_t b, const StopFlag &stop);
  void store_sum(uint32_t cluster, ClusterSum &sum, const StopFlag &stop);
  void forget_touched(const StopFlag &stop);

  ClusterState &state_;
  // The clusters that have changed since all threads searched: whether one is of them, which they are, and
  // their lists.
  Buffer<uint8_t> touched_;
  Buffer<uint32_t> touched_clusters_;
  ClusterIndex touched_lists_;
  Buffer<FoundCluster> looked_;  // what clusters have found that look for similar ones
  IndexChange change_;           // scratch of store_sum()
};

}  // namespace simjoin
