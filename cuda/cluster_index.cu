// The search works on postings: the clusters of the lists that a document has to look at. A prefix sum over
// the lengths of these lists deals them out, so that long lists and short ones keep the device equally busy;
// each posting is a candidate whose similarity eight threads compute from the centroid.
#include <cub/device/device_scan.cuh>

#include "cuda/cluster_index.hpp"
#include "cuda/cluster_pool.cuh"
#include "cuda/gpu_engine.hpp"
#include "cuda/launch.cuh"

namespace simjoin::gpu {
namespace {

constexpr uint32_t group_threads = 8;
// Postings that a group takes at a time, one behind the other: they are mostly of one document.
constexpr uint32_t postings_a_run = 8;
// Terms of centroids to go through between two looks at the stop flag: some 20 ms (H200).
constexpr uint64_t terms_a_launch = uint64_t{1} << 32;
// Documents of more terms look at all lists: choosing them takes the square of the terms.
constexpr uint64_t most_compared_terms = 4096;

// The documents of a search. A slot is a term of a document.
struct Documents {
  const TermWeight *terms;
  const uint64_t *ends;
  uint64_t count;
  uint32_t *sizes;      // of the list of each slot
  uint32_t *documents;  // of each slot
  uint64_t *postings;   // to look at, of each slot; then their prefix sum, the slot itself included

  __device__ uint64_t begin(uint64_t document) const { return document == 0 ? 0 : ends[document - 1]; }
};

// Chooses the lists of each document: the shortest ones, until what is left of the document is too short to
// be similar to anything by itself. A warp a document.
__global__ void choose_lists(Documents documents, const PoolRegion *lists, uint64_t known_terms,
                             double needed_square) {
  const uint32_t lane = threadIdx.x % warp_threads;
  const uint64_t warps = uint64_t{gridDim.x} * block_warps;
  for (uint64_t document = uint64_t{blockIdx.x} * block_warps + threadIdx.x / warp_threads;
       document < documents.count; document += warps) {
    const uint64_t begin = documents.begin(document), end = documents.ends[document];
    for (uint64_t slot = begin + lane; slot < end; slot += warp_threads) {
      const uint32_t term = documents.terms[slot].term;
      documents.sizes[slot] = term < known_terms ? lists[term].size : 0;
      documents.documents[slot] = static_cast<uint32_t>(document);
    }
    __syncwarp();
    for (uint64_t slot = begin + lane; slot < end; slot += warp_threads) {
      const uint32_t size = documents.sizes[slot];
      unsigned long long left = 0;
      for (uint64_t other = begin; end - begin <= most_compared_terms && other < end; ++other) {
        const uint32_t other_size = documents.sizes[other];
        const unsigned long long weight = documents.terms[other].weight;
        if (other_size > size || (other_size == size && other >= slot)) left += weight * weight;
      }
      const bool chosen = end - begin > most_compared_terms || static_cast<double>(left) >= needed_square;
      documents.postings[slot] = chosen ? size : 0;
    }
    __syncwarp();
  }
}

// Returns the first slot whose prefix sum is above the posting's number.
__device__ uint64_t slot_of(const uint64_t *sums, uint64_t slots, uint64_t posting) {
  uint64_t low = 0, high = slots;
  while (low < high) {
    const uint64_t middle = (low + high) / 2;
    if (sums[middle] > posting) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Returns the weight of a term in a document, whose terms ascend.
__device__ uint32_t weight_in(const TermWeight *terms, uint32_t count, uint32_t term) {
  uint32_t low = 0, high = count;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (terms[middle].term < term) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < count && terms[low].term == term ? terms[low].weight : 0;
}

// Returns the dot product of a document and a centroid to all threads of a group, whose lanes `mask` has.
__device__ uint64_t product_of_group(const TermWeight *terms, uint32_t count, const TermWeight *centroid,
                                     uint32_t centroid_terms, uint32_t mask) {
  unsigned long long sum = 0;
  for (uint32_t i = threadIdx.x % group_threads; i < centroid_terms; i += group_threads) {
    const TermWeight entry = centroid[i];
    sum += static_cast<unsigned long long>(entry.weight) * weight_in(terms, count, entry.term);
  }
  for (uint32_t distance = group_threads / 2; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(mask, sum, distance);
  return sum;
}

// The postings [first, last), group by group.
__global__ void search_lists(Documents documents, uint64_t slots, uint64_t first, uint64_t last,
                             const PoolRegion *lists, const uint32_t *clusters, const PoolRegion *centroids,
                             const TermWeight *centroid_terms, uint32_t least, unsigned long long *found) {
  const uint32_t mask = ((1u << group_threads) - 1)
                        << (threadIdx.x % warp_threads / group_threads * group_threads);
  const uint64_t groups = uint64_t{gridDim.x} * (block_threads / group_threads);
  const uint64_t group = (uint64_t{blockIdx.x} * block_threads + threadIdx.x) / group_threads;
  for (uint64_t begin = first + group * postings_a_run; begin < last; begin += groups * postings_a_run) {
    const uint64_t end = min(last, begin + postings_a_run);
    uint64_t slot = slot_of(documents.postings, slots, begin);
    for (uint64_t posting = begin; posting < end; ++posting) {
      while (documents.postings[slot] <= posting) ++slot;
      const PoolRegion list = lists[documents.terms[slot].term];
      const uint32_t cluster = clusters[list.start + list.size - (documents.postings[slot] - posting)];
      const uint32_t document = documents.documents[slot];
      const uint64_t first_term = documents.begin(document);
      const PoolRegion centroid = centroids[cluster];
      const uint32_t similarity = similarity_of_product(product_of_group(
          documents.terms + first_term, static_cast<uint32_t>(documents.ends[document] - first_term),
          centroid_terms + centroid.start, centroid.size, mask));
      if (similarity >= least && threadIdx.x % group_threads == 0)
        atomicMax(&found[document], static_cast<unsigned long long>(found_cluster(similarity, cluster)));
    }
  }
}

class GpuClusterIndex final : public ClusterDevice {
 public:
  explicit GpuClusterIndex(size_t memory_limit) : device_(memory_limit, GpuOptions{}.kept_memory) {}

  void update(const ClusterIndex &index, const StopFlag &stop) override {
    if (loaded_ && !index.everything_changed()) {
      lists_.update(
          device_, index.lists(), index.changed_lists(),
          [&](uint32_t term) { return index.first_changed(term); }, stop);
      centroids_.update(
          device_, index.centroids(), index.changed_centroids(), [](uint32_t) { return 0u; }, stop);
      return;
    }
    lists_.load(device_, index.lists(), stop);
    centroids_.load(device_, index.centroids(), stop);
    loaded_ = true;
  }

  void find(const DocumentVectors &documents, uint32_t least, FoundCluster *found,
            const StopFlag &stop) override {
    const Documents on_device = upload(documents);
    const uint64_t slots = documents.terms.size();
    found_.fill(0);
    if (slots > 0) {
      const double needed = least_shared_length(least);
      launch(device_, choose_lists, blocks_for(device_, documents.size(), warp_threads), on_device,
             lists_.regions(), lists_.keys(), needed * needed);
      with_scratch(device_, [&](void *scratch, size_t &bytes) {
        return cub::DeviceScan::InclusiveSum(scratch, bytes, postings_.data(), postings_.data(),
                                             static_cast<int64_t>(slots), device_.stream());
      });
      const uint64_t postings = read_value(device_, postings_.data() + slots - 1);
      const uint64_t postings_a_launch = terms_a_launch / (centroids_.elements_a_key() + 1) + 1;
      for (uint64_t first = 0; first < postings; first += postings_a_launch) {
        stop.check();
        const uint64_t last = std::min(postings, first + postings_a_launch);
        launch(device_, search_lists,
               blocks_for(device_, (last - first + postings_a_run - 1) / postings_a_run, group_threads),
               on_device, slots, first, last, lists_.regions(), lists_.elements(), centroids_.regions(),
               centroids_.elements(), least, reinterpret_cast<unsigned long long *>(found_.data()));
        if (last < postings) device_.synchronize();
      }
    }
    FoundCluster *staged = found_staging_.reserve(documents.size());
    copy_to_host(device_, staged, found_.data(), documents.size());
    device_.synchronize();
    std::copy_n(staged, documents.size(), found);
  }

 private:
  Documents upload(const DocumentVectors &documents) {
    const size_t slots = documents.terms.size(), count = documents.size();
    TermWeight *terms = term_staging_.reserve(slots);
    std::copy(documents.terms.begin(), documents.terms.end(), terms);
    uint64_t *ends = end_staging_.reserve(count);
    std::copy(documents.ends.begin(), documents.ends.end(), ends);
    grow(device_, terms_, slots, 0);
    grow(device_, sizes_, slots, 0);
    grow(device_, documents_, slots, 0);
    grow(device_, postings_, slots, 0);
    grow(device_, ends_, count, 0);
    grow(device_, found_, count, 0);
    copy_to_device(device_, terms_.data(), terms, slots);
    copy_to_device(device_, ends_.data(), ends, count);
    return {terms_.data(), ends_.data(), count, sizes_.data(), documents_.data(), postings_.data()};
  }

  Device device_;  // first: it goes after its buffers
  bool loaded_ = false;
  DevicePool<uint32_t> lists_;
  DevicePool<TermWeight> centroids_;
  Staging<TermWeight> term_staging_;
  Staging<uint64_t> end_staging_;
  Staging<FoundCluster> found_staging_;
  DeviceBuffer<TermWeight> terms_;
  DeviceBuffer<uint64_t> ends_;
  DeviceBuffer<uint32_t> sizes_;
  DeviceBuffer<uint32_t> documents_;
  DeviceBuffer<uint64_t> postings_;
  DeviceBuffer<FoundCluster> found_;
};

}  // namespace
}  // namespace simjoin::gpu

namespace simjoin {

std::unique_ptr<ClusterDevice> make_gpu_cluster_device(size_t memory_limit) {
  return std::make_unique<gpu::GpuClusterIndex>(memory_limit);
}

}  // namespace simjoin
