// The clusters that a batch has begun, or those of one thread. They change with each document. They come in
// groups, and only the last group matters. Few clusters of a group are compared one by one, more are
// searched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/clusters/cluster_index.hpp"
#include "core/clusters/cluster_sums.hpp"

namespace simjoin {

class OpenClusters {
 public:
  // `lists`: about the number of lists of clusters that terms share.
  OpenClusters(MemoryCounter &memory, size_t lists) : index_(memory, lists), sums_(memory) {}

  uint32_t size() const { return index_.clusters(); }
  std::span<const TermSum> sum(uint32_t cluster) const { return sums_[cluster]; }
  std::span<const TermWeight> centroid(uint32_t cluster) const { return index_.centroid(cluster); }

  // From now on documents cannot join the clusters so far.
  void begin_group() {
    group_ = size();
    listed_ = false;
  }
  // Returns the most similar cluster of the group with at least this similarity. Clusters before the group
  // are left out even if they are similar: documents of their groups may come later than this one. Throws
  // Cancelled.
  FoundCluster find(std::span<const TermWeight> document, uint32_t least, ClusterSearch &search,
                    const StopFlag &stop) const;
  // Adds a cluster with this sum, which finish() has cut.
  void add(const ClusterSum &sum, const StopFlag &stop);
  // Gives a cluster of the group another sum.
  void set(uint32_t cluster, const ClusterSum &sum, const StopFlag &stop);
  void clear(const StopFlag &stop) {
    index_.clear(stop);
    begin_group();
  }

 private:
  ClusterIndex index_;
  RegionPool<TermSum> sums_;
  uint32_t group_ = 0;   // its first cluster
  bool listed_ = false;  // whether the index has the group's clusters in its lists
};

}  // namespace simjoin
