// The search of documents among vectors by lists of those that have a term. A prefix sum over the lengths of
// the lists that a document has to look at deals them out, so that long lists and short ones keep the device
// equally busy; for each posting eight threads compute the product of two vectors.
//
// What is searched is a type of its own, `Lists`:
//   uint32_t size(slot): of the list of a document's term;
//   double needed(document): the length that what is left of a document needs to be similar by itself;
//   CandidateVector candidate(slot, i): the vector of posting i of the list;
//   bool wants(document, number): whether the product with that vector matters;
//   void take(document, number, product).
#pragma once

#include <cub/device/device_scan.cuh>

#include "core/cluster_device.hpp"
#include "cuda/cluster_pool.cuh"
#include "cuda/launch.cuh"

namespace simjoin::gpu {

constexpr uint32_t group_threads = 8;
// Postings that a group takes at a time, one behind the other: they are mostly of one document.
constexpr uint32_t postings_a_run = 8;
// Terms of candidates to go through between two looks at the stop flag: some 20 ms (H200).
constexpr uint64_t terms_a_launch = uint64_t{1} << 32;
// Documents of more terms look at all lists: choosing them takes the square of the terms.
constexpr uint64_t most_compared_terms = 4096;

// The documents of a search. A slot is a term of a document, or unused room behind its terms.
struct Documents {
  const TermWeight *terms;
  const uint64_t *ends;  // of each document's room, counted from `before` slots before the first one
  uint64_t before;
  const uint32_t *sizes;
  uint64_t count;
  uint32_t *list_sizes;  // of each slot
  uint32_t *documents;   // of each slot
  uint64_t *postings;    // to look at, of each slot; then their prefix sum, the slot itself included

  __device__ uint64_t begin(uint64_t document) const {
    return document == 0 ? 0 : ends[document - 1] - before;
  }
  __device__ uint64_t end(uint64_t document) const { return begin(document) + sizes[document]; }
  __device__ uint64_t end_of_room(uint64_t document) const { return ends[document] - before; }
};

struct CandidateVector {
  uint32_t number;
  uint32_t size;
  const TermWeight *terms;
};

// Chooses the lists of each document: the shortest ones, until what is left of the document is too short to
// be similar to anything by itself. A warp a document.
template <class Lists>
__global__ void choose_lists(Documents documents, Lists lists) {
  const uint32_t lane = threadIdx.x % warp_threads;
  const uint64_t warps = uint64_t{gridDim.x} * block_warps;
  for (uint64_t document = uint64_t{blockIdx.x} * block_warps + threadIdx.x / warp_threads;
       document < documents.count; document += warps) {
    const uint64_t begin = documents.begin(document), end = documents.end(document);
    for (uint64_t slot = begin + lane; slot < end; slot += warp_threads) {
      documents.list_sizes[slot] = lists.size(slot);
      documents.documents[slot] = static_cast<uint32_t>(document);
    }
    __syncwarp();
    const double needed = lists.needed(document);
    for (uint64_t slot = begin + lane; slot < end; slot += warp_threads) {
      const uint32_t size = documents.list_sizes[slot];
      unsigned long long left = 0;
      for (uint64_t other = begin; end - begin <= most_compared_terms && other < end; ++other) {
        const uint32_t other_size = documents.list_sizes[other];
        const unsigned long long weight = documents.terms[other].weight;
        if (other_size > size || (other_size == size && other >= slot)) left += weight * weight;
      }
      const bool chosen = end - begin > most_compared_terms || static_cast<double>(left) >= needed * needed;
      documents.postings[slot] = chosen ? size : 0;
    }
    for (uint64_t slot = end + lane; slot < documents.end_of_room(document); slot += warp_threads)
      documents.postings[slot] = 0;
    __syncwarp();
  }
}

// Returns the first slot whose prefix sum is above the posting's number.
inline __device__ uint64_t slot_of(const uint64_t *sums, uint64_t slots, uint64_t posting) {
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
inline __device__ uint32_t weight_in(const TermWeight *terms, uint32_t count, uint32_t term) {
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

// Returns the product of a document and a candidate to all threads of a group, whose lanes `mask` has.
inline __device__ uint64_t product_of_group(const TermWeight *terms, uint32_t count,
                                            const CandidateVector &candidate, uint32_t mask) {
  unsigned long long sum = 0;
  for (uint32_t i = threadIdx.x % group_threads; i < candidate.size; i += group_threads) {
    const TermWeight entry = candidate.terms[i];
    sum += static_cast<unsigned long long>(entry.weight) * weight_in(terms, count, entry.term);
  }
  for (uint32_t distance = group_threads / 2; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(mask, sum, distance);
  return sum;
}

// The postings [first, last), group by group.
template <class Lists>
__global__ void search_lists(Documents documents, uint64_t slots, uint64_t first, uint64_t last,
                             Lists lists) {
  const uint32_t first_lane = threadIdx.x % warp_threads / group_threads * group_threads;
  const uint32_t mask = ((1u << group_threads) - 1) << first_lane;
  const bool leads = threadIdx.x % group_threads == 0;
  const uint64_t groups = uint64_t{gridDim.x} * (block_threads / group_threads);
  const uint64_t group = (uint64_t{blockIdx.x} * block_threads + threadIdx.x) / group_threads;
  for (uint64_t begin = first + group * postings_a_run; begin < last; begin += groups * postings_a_run) {
    const uint64_t end = min(last, begin + postings_a_run);
    uint64_t slot = slot_of(documents.postings, slots, begin);
    for (uint64_t posting = begin; posting < end; ++posting) {
      while (documents.postings[slot] <= posting) ++slot;
      const uint64_t left_of_list = documents.postings[slot] - posting;
      const CandidateVector candidate =
          lists.candidate(slot, static_cast<uint32_t>(documents.list_sizes[slot] - left_of_list));
      const uint32_t document = documents.documents[slot];
      const bool wanted = __shfl_sync(mask, leads && lists.wants(document, candidate.number), first_lane);
      if (!wanted) continue;
      const uint64_t product = product_of_group(documents.terms + documents.begin(document),
                                                documents.sizes[document], candidate, mask);
      if (leads) lists.take(document, candidate.number, product);
    }
  }
}

// Looks at all candidates of the documents, which have `slots` slots; candidates have `terms_a_candidate` on
// average. Returns false, with none looked at, where there are more than `most`. Throws Cancelled.
template <class Lists>
bool search(Device &device, const Documents &documents, uint64_t slots, const Lists &lists,
            uint64_t terms_a_candidate, uint64_t most, const StopFlag &stop) {
  if (slots == 0) return true;
  launch(device, choose_lists<Lists>, blocks_for(device, documents.count, warp_threads), documents, lists);
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceScan::InclusiveSum(scratch, bytes, documents.postings, documents.postings,
                                         static_cast<int64_t>(slots), device.stream());
  });
  const uint64_t postings = read_value(device, documents.postings + slots - 1);
  if (postings > most) return false;
  const uint64_t postings_a_launch = terms_a_launch / (terms_a_candidate + 1) + 1;
  for (uint64_t first = 0; first < postings; first += postings_a_launch) {
    stop.check();
    const uint64_t last = std::min(postings, first + postings_a_launch);
    launch(device, search_lists<Lists>,
           blocks_for(device, (last - first + postings_a_run - 1) / postings_a_run, group_threads), documents,
           slots, first, last, lists);
    if (last < postings) device.synchronize();
  }
  return true;
}

}  // namespace simjoin::gpu
