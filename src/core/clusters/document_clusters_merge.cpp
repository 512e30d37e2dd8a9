// The end of a batch where clusters are merged: those that it has begun or that have grown look for similar
// ones.
//
// They look in their order, each at the current state of all clusters. All threads look before, at the state
// at the end of the batch. A cluster that found nothing then need not look again: any cluster that has
// changed since has looked itself, and similarities are symmetric.
#include "core/clusters/document_clusters.hpp"

#include <algorithm>

namespace simjoin {

// Lists the clusters that look, at the end of a batch that is not yet forgotten.
void DocumentClusters::list_looking() {
  looking_.clear();
  for (const Grown &grown : grown_) looking_.push_back(grown.cluster);
  std::sort(looking_.begin(), looking_.end());
  for (uint32_t cluster = clusters() - static_cast<uint32_t>(opens_.size()); cluster < clusters(); ++cluster)
    looking_.push_back(cluster);
}

void DocumentClusters::merge_looking(WorkerPool &pool) {
  looked_.resize(looking_.size());
  pool.parallel_pieces(looking_.size(), documents_per_piece, [&](int worker, size_t i) {
    looked_[i] = workers_[worker].search.find(index_, index_.centroid(looking_[i]), least_merged_,
                                              pool.stop(), {.without = looking_[i]});
  });
  for (size_t i = 0; i < looking_.size(); ++i)
    if (looked_[i] != 0 && survivors_[looking_[i]] == looking_[i]) merge_from(looking_[i], pool.stop());
  forget_touched(pool.stop());
}

// Merges a cluster with the most similar one, and what becomes of it likewise, until there is none.
void DocumentClusters::merge_from(uint32_t cluster, const StopFlag &stop) {
  for (;;) {
    stop.check();
    const FoundCluster found =
        workers_[0].search.find(index_, index_.centroid(cluster), least_merged_, stop, {.without = cluster});
    if (found == 0) return;
    cluster = unite(cluster, cluster_of(found), stop);
  }
}

// Makes the younger of two clusters part of the older one, and returns this one.
uint32_t DocumentClusters::unite(uint32_t a, uint32_t b, const StopFlag &stop) {
  const uint32_t older = std::min(a, b), younger = std::max(a, b);
  ClusterSum &sum = workers_[0].sum;
  sum.set(sums_[older]);
  sum.append(sums_[younger]);
  sum.combine(stop);
  store_sum(older, sum, stop);
  sum.set(std::span<const TermSum>());
  store_sum(younger, sum, stop);
  sizes_[older] = std::min(sizes_[older] + sizes_[younger], most_documents);
  sizes_[younger] = 0;
  survivors_[younger] = older;
  return older;
}

void DocumentClusters::settle() {
  for (uint32_t cluster = 0; cluster < clusters(); ++cluster) {
    const uint32_t survivor = survivors_[survivors_[cluster]];
    if (survivor == survivors_[cluster]) continue;
    survivors_[cluster] = survivor;
    changed_[cluster] = 1;
  }
}

}  // namespace simjoin
