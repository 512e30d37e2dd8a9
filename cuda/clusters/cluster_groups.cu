// Groups the documents of a batch by a search among themselves. Sorting the terms yields, for each term, the
// list of its documents. Each document looks at the earlier entries of its lists.
#include "cuda/clusters/cluster_groups.hpp"

#include <cub/device/device_radix_sort.cuh>
#include <limits>

#include "core/clusters/cluster_relations.hpp"
#include "cuda/base/cub_count.cuh"
#include "cuda/clusters/cluster_search.cuh"
#include "cuda/graph/disjoint_sets.cuh"
#include "cuda/graph/kernels.hpp"

namespace simjoin::gpu {
namespace {

// If the documents have more candidates on average, or a search of that cost, all become one group. To
// cluster them in order on one core then takes less time.
constexpr uint64_t most_candidates = 4096;

// The earlier documents of each term. The slots of a term are adjacent in `sorted`, earlier documents first.
struct EarlierDocuments {
  Documents documents;
  RelationLimits limits;
  const uint32_t *sorted;
  const uint32_t *list_starts;  // by slot: the start of its list in `sorted`
  uint32_t *parents;

  __device__ double needed(uint64_t document) const {
    constexpr double one = uint64_t{1} << weight_bits;
    return least_related(least_newer(limits.least, limits.found[document]), limits.least_reach) / one;
  }
  __device__ CandidateVector candidate(uint64_t slot, uint32_t i) const {
    const uint32_t earlier = documents.documents[sorted[list_starts[slot] + i]];
    return {earlier, documents.sizes[earlier], documents.terms + documents.begin(earlier)};
  }
  // Skips pairs whose sets are already one, because no product changes that. Unites the sets of two documents
  // that are too long to be multiplied.
  __device__ bool wants(uint32_t document, uint32_t terms, const CandidateVector &earlier) const {
    if (find_set(parents, document) == find_set(parents, earlier.number)) return false;
    if (min(terms, earlier.size) <= most_multiplied_terms) return true;
    unite_sets(parents, document, earlier.number);
    return false;
  }
  __device__ void take(uint32_t document, uint32_t earlier, uint64_t product) const {
    const uint32_t similarity = least_newer(limits.least, limits.found[document]);
    if (static_cast<double>(product) >= least_related(similarity, limits.reaches[earlier]))
      unite_sets(parents, document, earlier);
  }
};

// Writes the terms to sort. Unused slots come last.
__global__ void list_slots(Documents documents, uint64_t slots, uint32_t *terms, uint32_t *numbers) {
  SIMJOIN_GRID_STRIDE(slot, slots) {
    const bool used = slot < documents.end(documents.documents[slot]);
    terms[slot] = used ? documents.terms[slot].term : UINT32_MAX;
    numbers[slot] = static_cast<uint32_t>(slot);
  }
}

// Finds the list of each slot: the earlier slots of the same term in sorted order.
__global__ void find_lists(const uint32_t *terms, const uint32_t *sorted, uint64_t slots, uint32_t *starts,
                           uint32_t *sizes) {
  SIMJOIN_GRID_STRIDE(i, slots) {
    const uint64_t start = lower_bound(terms, uint64_t{0}, i, terms[i]);
    starts[sorted[i]] = static_cast<uint32_t>(start);
    sizes[sorted[i]] = static_cast<uint32_t>(i - start);
  }
}

}  // namespace

bool group_documents(Device &device, const Documents &documents, size_t slots, uint32_t longest,
                     const RelationLimits &limits, uint32_t *groups, const StopFlag &stop) {
  if (slots > std::numeric_limits<uint32_t>::max())
    throw Error(ErrorKind::limit_exceeded, "a batch of documents has more than 4294967295 terms");
  DeviceBuffer<uint32_t> terms(device, slots), other_terms(device, slots);
  DeviceBuffer<uint32_t> sorted(device, slots), other_sorted(device, slots);
  launch(device, list_slots, blocks_for(device, slots), documents, uint64_t{slots}, terms.data(),
         sorted.data());
  cub::DoubleBuffer<uint32_t> keys(terms.data(), other_terms.data());
  cub::DoubleBuffer<uint32_t> values(sorted.data(), other_sorted.data());
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, values, cub_count(slots), 0, 32,
                                           device.stream());
  });
  DeviceBuffer<uint32_t> starts(device, slots);
  launch(device, find_lists, blocks_for(device, slots), static_cast<const uint32_t *>(keys.Current()),
         static_cast<const uint32_t *>(values.Current()), uint64_t{slots}, starts.data(),
         documents.list_sizes);
  DeviceSets sets(device, static_cast<uint32_t>(documents.count));
  const EarlierDocuments lists{documents, limits, values.Current(), starts.data(), sets.parents()};
  const auto average = static_cast<uint32_t>(slots / documents.count);
  const uint64_t most = documents.count * most_candidates * PostingCost(longest)(average);
  if (!search(device, documents, slots, lists, longest, most, stop)) return false;
  sets.flatten();
  copy_on_device(device, groups, sets.parents(), documents.count);
  return true;
}

}  // namespace simjoin::gpu
