// The index in device memory, and the search of documents among its centroids.
#include "cuda/clusters/cluster_index.hpp"

#include <algorithm>
#include <limits>

#include "cuda/clusters/cluster_groups.hpp"
#include "cuda/clusters/cluster_search.cuh"

namespace simjoin::gpu {
namespace {

// Finds the document of each slot and the length of the list of its term.
__global__ void number_slots(Documents documents, uint64_t slots, const PoolRegion *lists,
                             uint64_t known_terms) {
  SIMJOIN_GRID_STRIDE(slot, slots) {
    const uint64_t place = documents.before + slot;
    const uint64_t document =
        partition_point(uint64_t{0}, documents.count, [&](uint64_t i) { return documents.ends[i] <= place; });
    documents.documents[slot] = static_cast<uint32_t>(document);
    const bool used = slot < documents.end(document) && documents.terms[slot].term < known_terms;
    documents.list_sizes[slot] = used ? lists[documents.terms[slot].term].size : 0;
  }
}

// The clusters, listed by term.
struct Clusters {
  Documents documents;
  const PoolRegion *lists;
  const uint32_t *clusters;
  const PoolRegion *centroids;
  const TermWeight *centroid_terms;
  uint32_t least;
  double needed_length;
  unsigned long long *found;

  __device__ double needed(uint64_t) const { return needed_length; }
  __device__ CandidateVector candidate(uint64_t slot, uint32_t i) const {
    const uint32_t cluster = clusters[lists[documents.terms[slot].term].start + i];
    return {cluster, centroids[cluster].size, centroid_terms + centroids[cluster].start};
  }
  __device__ bool wants(uint32_t, uint32_t, const CandidateVector &) const { return true; }
  __device__ void take(uint32_t document, uint32_t cluster, uint64_t product) const {
    const uint32_t similarity = similarity_of_product(product);
    if (similarity >= least)
      atomicMax(&found[document], static_cast<unsigned long long>(found_cluster(similarity, cluster)));
  }
};

class GpuClusterIndex final : public ClusterDevice {
 public:
  explicit GpuClusterIndex(size_t memory_limit) : device_(memory_limit) {}
  ~GpuClusterIndex() override { device_.make_current_or_not(); }

  void update(const ClusterIndex &index, const StopFlag &stop) override {
    device_.make_current();
    if (loaded_) {
      centroids_.update(device_, index.centroids(), index.changed_centroids(), stop);
    } else {
      centroids_.load(device_, index.centroids(), stop);
    }
    if (loaded_ && !index.lists_are_stale()) {
      lists_.append(device_, index.new_postings(), index.term_end());
    } else {
      lists_.make(device_, centroids_.pool(), index.centroid_terms(), index.term_end());
    }
    loaded_ = true;
  }

  void find(const DocumentVectors &documents, uint32_t least, FoundCluster *found, uint32_t *groups,
            const StopFlag &stop) override {
    device_.make_current();
    const Documents on_device = upload(documents);
    const uint64_t slots = documents.terms.size();
    found_.fill(0);
    const DevicePool<uint32_t> &lists = lists_.pool();
    const DevicePool<TermWeight> &centroids = centroids_.pool();
    launch(device_, number_slots, blocks_for(device_, slots), on_device, slots, lists.regions(),
           uint64_t{lists.keys()});
    search(device_, on_device, slots,
           Clusters{on_device, lists.regions(), lists.elements(), centroids.regions(), centroids.elements(),
                    least, least_shared_length(least), reinterpret_cast<unsigned long long *>(found_.data())},
           centroids_.longest(), std::numeric_limits<uint64_t>::max(), stop);
    FoundCluster *const staged = found_staging_.reserve(documents.size());
    copy_to_host(device_, staged, found_.data(), documents.size());
    const bool grouped = groups != nullptr && group(documents, on_device, least, stop);
    device_.synchronize();
    std::copy_n(staged, documents.size(), found);
    if (grouped) {
      std::copy_n(group_staging_.data(), documents.size(), groups);
    } else if (groups != nullptr) {
      std::fill_n(groups, documents.size(), 0);
    }
  }

 private:
  Documents upload(const DocumentVectors &documents) {
    const size_t slots = documents.terms.size(), count = documents.size();
    grow(device_, documents_, slots, 0);
    grow(device_, list_sizes_, slots, 0);
    grow(device_, costs_, slots, 0);
    grow(device_, found_, count, 0);
    terms_.upload(device_, documents.terms);
    ends_.upload(device_, documents.ends);
    sizes_.upload(device_, documents.sizes);
    return {terms_.data(), ends_.data(),      documents.before,   sizes_.data(),
            count,         documents_.data(), list_sizes_.data(), costs_.data()};
  }

  // Starts the copy of the groups to the host. Returns false without a copy if all documents are one group,
  // because grouping takes too long or too much memory.
  bool group(const DocumentVectors &documents, const Documents &on_device, uint32_t least,
             const StopFlag &stop) {
    const uint32_t least_reach = *std::min_element(documents.reaches.begin(), documents.reaches.end());
    const uint32_t longest = *std::max_element(documents.sizes.begin(), documents.sizes.end());
    try {
      uint32_t *const staged = group_staging_.reserve(documents.size());
      grow(device_, groups_, documents.size(), 0);
      reaches_.upload(device_, documents.reaches);
      if (!group_documents(device_, on_device, documents.terms.size(), longest,
                           {least, least_reach, reaches_.data(), found_.data()}, groups_.data(), stop))
        return false;
      copy_to_host(device_, staged, groups_.data(), documents.size());
      return true;
    } catch (const Error &error) {
      if (error.kind() != ErrorKind::limit_exceeded) throw;
      return false;
    }
  }

  Device device_;  // first: its buffers must be destroyed before it
  bool loaded_ = false;
  DeviceLists lists_;
  DeviceCentroids centroids_;
  Staged<TermWeight> terms_;
  Staged<uint64_t> ends_;
  Staged<uint32_t> sizes_;
  Staged<uint32_t> reaches_;
  DeviceBuffer<uint32_t> documents_;
  DeviceBuffer<uint32_t> list_sizes_;
  DeviceBuffer<uint64_t> costs_;
  DeviceBuffer<FoundCluster> found_;
  DeviceBuffer<uint32_t> groups_;
  PinnedArray<FoundCluster> found_staging_;
  PinnedArray<uint32_t> group_staging_;
};

}  // namespace
}  // namespace simjoin::gpu

namespace simjoin {

std::unique_ptr<ClusterDevice> make_gpu_cluster_device(size_t memory_limit) {
  return std::make_unique<gpu::GpuClusterIndex>(memory_limit);
}

}  // namespace simjoin
