// The search of documents among vectors by lists of the vectors with a term. The cost of a posting depends on
// the document's terms. A prefix sum over the costs distributes the postings, so that long and short lists
// and documents keep the device evenly busy, and no launch takes long. Eight threads compute the product of
// two vectors for each posting.
//
// The searched vectors are a type of their own, `Lists`:
//   double needed(document): the least length with which the rest of a document can be similar by itself;
//   CandidateVector candidate(slot, i): the vector of posting i of the slot's list;
//   bool wants(document, terms, candidate): whether the product of that vector and a document of
//     `terms` terms matters. If so, one of the two has at most most_multiplied_terms terms;
//   void take(document, number, product).
#pragma once

#include <chrono>
#include <cub/device/device_scan.cuh>

#include "core/clusters/cluster_device.hpp"
#include "cuda/base/binary_search.cuh"
#include "cuda/base/cub_count.cuh"
#include "cuda/base/launch.cuh"
#include "cuda/base/launch_size.hpp"
#include "cuda/clusters/cluster_pool.cuh"

namespace simjoin::gpu {

constexpr uint32_t group_threads = 8;
// A document of more terms looks at all its lists, because choosing takes the square of its terms.
constexpr uint64_t most_compared_terms = 4096;
// A candidate's terms are read one after another. The exception is a candidate that has at least
// `much_longer` times the terms of the document, or more than `long_terms` and more than the document. Not
// tuned.
constexpr uint32_t much_longer = 8;
constexpr uint32_t long_terms = 4096;
// A group multiplies a vector of this many terms by one of a million in some 30 ms, by the latencies of an
// H200.
constexpr uint32_t most_multiplied_terms = max_centroid_terms;

// The cost of a group's run: about four consecutive postings of a document of 20 terms.
constexpr uint64_t cost_per_run = 128;
// The cost of a launch. The first one is for a millisecond, by a pessimistic estimate: an H200 goes through
// 2^27 adjacent terms in that time. The second one is a limit, because short documents may be followed by
// long ones. It should take an H200 less than 50 ms, by its bandwidth, if every term is far from the one
// before. Not tuned.
constexpr double first_costs_per_ms = 1 << 24;
constexpr double most_costs_per_launch = 1 << 28;

// The documents of a search. A slot is a term of a document, or unused room behind its terms.
struct Documents {
  const TermWeight *terms;
  const uint64_t *ends;  // by document: the end of its room, plus `before`
  uint64_t before;
  const uint32_t *sizes;
  uint64_t count;
  uint32_t *documents;   // by slot
  uint32_t *list_sizes;  // by slot
  uint64_t *costs;       // by slot: the cost of the wanted part of its list; later the inclusive prefix sum

  __device__ uint64_t begin(uint64_t document) const {
    return document == 0 ? 0 : ends[document - 1] - before;
  }
  __device__ uint64_t end(uint64_t document) const { return begin(document) + sizes[document]; }
};

struct CandidateVector {
  uint32_t number;
  uint32_t size;
  const TermWeight *terms;
};

// The highest cost of a posting of a document's list: that of going through `much_longer` times as many
// adjacent terms.
class PostingCost {
 public:
  // `longest` is the most terms of a candidate.
  explicit PostingCost(uint32_t longest)
      : most_terms_(std::min(longest, most_multiplied_terms) / much_longer + 1) {}

  SIMJOIN_HOST_DEVICE uint32_t operator()(uint32_t document_terms) const {
    const uint32_t terms = document_terms < most_terms_ ? document_terms : most_terms_;
    return overhead + (document_terms > cached_terms ? far_term * terms : terms);
  }

 private:
  static constexpr uint32_t overhead = 16;            // for the vector and its first terms; not tuned
  static constexpr uint32_t cached_terms = 1u << 14;  // half of an L1 cache
  static constexpr uint32_t far_term = 16;  // per term of a document that the L1 cache does not hold

  uint32_t most_terms_;
};

// Chooses the lists of each document: the shortest ones first, until the rest of the document is too short to
// be similar to anything by itself.
template <class Lists>
__global__ void choose_lists(Documents documents, uint64_t slots, PostingCost cost, Lists lists) {
  SIMJOIN_GRID_STRIDE(slot, slots) {
    const uint32_t document = documents.documents[slot];
    const uint64_t begin = documents.begin(document), end = documents.end(document);
    documents.costs[slot] = 0;
    if (slot >= end) continue;
    const uint32_t size = documents.list_sizes[slot];
    if (size == 0) continue;
    if (end - begin <= most_compared_terms) {
      unsigned long long left = 0;
      for (uint64_t other = begin; other < end; ++other) {
        const uint32_t other_size = documents.list_sizes[other];
        const unsigned long long weight = documents.terms[other].weight;
        if (other_size > size || (other_size == size && other >= slot)) left += weight * weight;
      }
      const double needed = lists.needed(document);
      if (static_cast<double>(left) < needed * needed) continue;
    }
    documents.costs[slot] = uint64_t{size} * cost(documents.sizes[document]);
  }
}

// Returns the first of the ascending terms [low, count) that is not below `term`, or count. It is fast if
// that term is near.
inline __device__ uint32_t next_place(const TermWeight *terms, uint32_t low, uint32_t count, uint32_t term) {
  uint64_t high = uint64_t{low} + 32;
  for (uint64_t step = 64; high < count && terms[high].term < term; step *= 2) {
    low = static_cast<uint32_t>(high) + 1;
    high += step;
  }
  return partition_point(low, static_cast<uint32_t>(min(high, uint64_t{count})),
                         [&](uint32_t i) { return terms[i].term < term; });
}

// Returns the product of a document and a candidate to all threads of a group. `mask` has the lanes of the
// group.
inline __device__ uint64_t product_of_group(const TermWeight *terms, uint32_t count,
                                            const CandidateVector &candidate, uint32_t mask) {
  const bool swap =
      candidate.size > count && (candidate.size > long_terms || candidate.size / much_longer > count);
  const TermWeight *walked = swap ? terms : candidate.terms, *searched = swap ? candidate.terms : terms;
  const uint32_t steps = swap ? count : candidate.size, searched_count = swap ? candidate.size : count;
  unsigned long long sum = 0;
  uint32_t place = 0;
  for (uint32_t i = threadIdx.x % group_threads; i < steps; i += group_threads) {
    const TermWeight entry = walked[i];
    place = next_place(searched, place, searched_count, entry.term);
    if (place == searched_count) break;
    const TermWeight found = searched[place];
    if (found.term == entry.term) sum += static_cast<unsigned long long>(entry.weight) * found.weight;
  }
  for (uint32_t distance = group_threads / 2; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(mask, sum, distance);
  return sum;
}

// Searches the postings that begin in [first, last) of the costs, group by group.
template <class Lists>
__global__ void search_lists(Documents documents, uint64_t slots, PostingCost cost, uint64_t first,
                             uint64_t last, Lists lists) {
  const uint32_t first_lane = threadIdx.x % warp_threads / group_threads * group_threads;
  const uint32_t mask = ((1u << group_threads) - 1) << first_lane;
  const bool leads = threadIdx.x % group_threads == 0;
  const uint64_t groups = uint64_t{gridDim.x} * (block_threads / group_threads);
  const uint64_t group = (uint64_t{blockIdx.x} * block_threads + threadIdx.x) / group_threads;
  const uint64_t *sums = documents.costs;
  for (uint64_t begin = first + group * cost_per_run; begin < last; begin += groups * cost_per_run) {
    const uint64_t end = min(last, begin + cost_per_run);
    uint64_t slot = partition_point(uint64_t{0}, slots, [&](uint64_t i) { return sums[i] <= begin; });
    uint32_t document = documents.documents[slot], terms = documents.sizes[document];
    uint64_t left = (sums[slot] - begin) / cost(terms);  // postings of the list from this place on
    for (uint64_t at = sums[slot] - left * cost(terms); at < end; at += cost(terms), --left) {
      if (left == 0) {
        while (sums[slot] <= at) ++slot;
        document = documents.documents[slot];
        terms = documents.sizes[document];
        left = documents.list_sizes[slot];
      }
      const CandidateVector candidate =
          lists.candidate(slot, static_cast<uint32_t>(documents.list_sizes[slot] - left));
      const bool wanted = __shfl_sync(mask, leads && lists.wants(document, terms, candidate), first_lane);
      if (!wanted) continue;
      const uint64_t product =
          product_of_group(documents.terms + documents.begin(document), terms, candidate, mask);
      if (leads) lists.take(document, candidate.number, product);
    }
  }
}

// Looks at all candidates of the documents. Their `slots` slots must be numbered and have the sizes of their
// lists. Candidates have at most `longest` terms. Returns false without a search if the cost exceeds `most`.
// Throws Cancelled.
template <class Lists>
bool search(Device &device, const Documents &documents, uint64_t slots, const Lists &lists, uint32_t longest,
            uint64_t most, const StopFlag &stop) {
  using Clock = std::chrono::steady_clock;
  if (slots == 0) return true;
  const PostingCost cost(longest);
  launch(device, choose_lists<Lists>, blocks_for(device, slots), documents, slots, cost, lists);
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceScan::InclusiveSum(scratch, bytes, documents.costs, documents.costs, cub_count(slots),
                                         device.stream());
  });
  const uint64_t costs = read_value(device, documents.costs + slots - 1);
  if (costs > most) return false;
  double a_launch = first_items(first_costs_per_ms, device.processors());
  for (uint64_t first = 0; first < costs;) {
    stop.check();
    const Clock::time_point begin = Clock::now();
    const uint64_t last = first + std::min(costs - first, static_cast<uint64_t>(a_launch));
    launch(device, search_lists<Lists>,
           blocks_for(device, (last - first + cost_per_run - 1) / cost_per_run, group_threads), documents,
           slots, cost, first, last, lists);
    if (last < costs) {
      device.synchronize();
      const std::chrono::duration<double, std::milli> passed = Clock::now() - begin;
      const FinishedLaunch done{static_cast<double>(last - first), passed.count()};
      a_launch = std::min(next_items(done, UINT64_MAX), most_costs_per_launch);
    }
    first = last;
  }
  return true;
}

}  // namespace simjoin::gpu
