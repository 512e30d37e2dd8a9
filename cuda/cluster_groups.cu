// The documents of a batch are searched among themselves: lists of those that have a term come from sorting
// the terms, and each document looks at what is before it in its lists.
#include "cuda/cluster_groups.hpp"

#include <cub/device/device_radix_sort.cuh>
#include <limits>

#include "core/cluster_relations.hpp"
#include "cuda/cluster_search.cuh"
#include "cuda/disjoint_sets.cuh"
#include "cuda/graph_kernels.hpp"

namespace simjoin::gpu {
namespace {

// Documents with more candidates on average are one group: it takes a core less to cluster them in order.
constexpr uint64_t most_candidates = 4096;

// Earlier documents by term. In the order of `sorted`, slots of a term are one behind the other, earlier ones
// first.
struct EarlierDocuments {
  Documents documents;
  RelationLimits limits;
  const uint32_t *sorted;
  const uint32_t *list_starts;  // of each slot, in `sorted`
  const uint32_t *list_sizes;   // of each slot: how many are before it there
  uint32_t *parents;

  __device__ uint32_t size(uint64_t slot) const { return list_sizes[slot]; }
  __device__ double needed(uint64_t document) const {
    constexpr double one = uint64_t{1} << weight_bits;
    return least_related(least_newer(limits.least, limits.found[document]), limits.least_reach) / one;
  }
  __device__ CandidateVector candidate(uint64_t slot, uint32_t i) const {
    const uint32_t earlier = documents.documents[sorted[list_starts[slot] + i]];
    return {earlier, documents.sizes[earlier], documents.terms + documents.begin(earlier)};
  }
  // Where the sets are one already, no product can change that.
  __device__ bool wants(uint32_t document, uint32_t earlier) const {
    return find_set(parents, document) != find_set(parents, earlier);
  }
  __device__ void take(uint32_t document, uint32_t earlier, uint64_t product) const {
    const uint32_t similarity = least_newer(limits.least, limits.found[document]);
    if (static_cast<double>(product) >= least_related(similarity, limits.reaches[earlier]))
      unite_sets(parents, document, earlier);
  }
};

// A warp a document. Unused slots come last.
__global__ void list_slots(Documents documents, uint32_t *terms, uint32_t *slots) {
  const uint32_t lane = threadIdx.x % warp_threads;
  const uint64_t warps = uint64_t{gridDim.x} * block_warps;
  for (uint64_t document = uint64_t{blockIdx.x} * block_warps + threadIdx.x / warp_threads;
       document < documents.count; document += warps) {
    const uint64_t end = documents.end(document);
    for (uint64_t slot = documents.begin(document) + lane; slot < documents.end_of_room(document);
         slot += warp_threads) {
      terms[slot] = slot < end ? documents.terms[slot].term : UINT32_MAX;
      slots[slot] = static_cast<uint32_t>(slot);
    }
  }
}

__global__ void find_lists(const uint32_t *terms, const uint32_t *sorted, uint64_t slots, uint32_t *starts,
                           uint32_t *sizes) {
  SIMJOIN_GRID_STRIDE(i, slots) {
    uint64_t low = 0, high = i;
    while (low < high) {
      const uint64_t middle = (low + high) / 2;
      if (terms[middle] == terms[i]) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    starts[sorted[i]] = static_cast<uint32_t>(low);
    sizes[sorted[i]] = static_cast<uint32_t>(i - low);
  }
}

__global__ void make_one_group(uint32_t *groups, uint64_t documents) {
  SIMJOIN_GRID_STRIDE(i, documents) groups[i] = 0;
}

}  // namespace

void group_documents(Device &device, const Documents &documents, size_t slots, const RelationLimits &limits,
                     uint32_t *groups, const StopFlag &stop) {
  if (slots > std::numeric_limits<uint32_t>::max())
    throw Error(ErrorKind::limit_exceeded, "a batch of documents has more than 4294967295 terms");
  DeviceBuffer<uint32_t> terms(device, slots), other_terms(device, slots);
  DeviceBuffer<uint32_t> sorted(device, slots), other_sorted(device, slots);
  launch(device, list_slots, blocks_for(device, documents.count, warp_threads), documents, terms.data(),
         sorted.data());
  cub::DoubleBuffer<uint32_t> keys(terms.data(), other_terms.data());
  cub::DoubleBuffer<uint32_t> values(sorted.data(), other_sorted.data());
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, values, static_cast<int64_t>(slots), 0, 32,
                                           device.stream());
  });
  DeviceBuffer<uint32_t> starts(device, slots), sizes(device, slots);
  launch(device, find_lists, blocks_for(device, slots), static_cast<const uint32_t *>(keys.Current()),
         static_cast<const uint32_t *>(values.Current()), uint64_t{slots}, starts.data(), sizes.data());
  DeviceSets sets(device, static_cast<uint32_t>(documents.count));
  const EarlierDocuments lists{documents,     limits,       values.Current(),
                               starts.data(), sizes.data(), sets.parents()};
  if (search(device, documents, slots, lists, slots / documents.count, documents.count * most_candidates,
             stop)) {
    sets.flatten();
    copy_on_device(device, groups, sets.parents(), documents.count);
  } else {
    launch(device, make_one_group, blocks_for(device, documents.count), groups, documents.count);
  }
}

}  // namespace simjoin::gpu
