#include "cuda/base/binary_search.cuh"
#include "cuda/base/launch.cuh"
#include "cuda/weighted/weighted_filter.hpp"

namespace simjoin::gpu {
namespace {

constexpr unsigned whole_warp = ~0u;
constexpr uint32_t groups_per_warp = warp_threads / weighted_lanes;

// As WeightedSearch::find. The totals that a token leaves for partners fall from token to token, so that each
// look-up is independent of those before.
__global__ void look_up(const __grid_constant__ WeightedJob job, uint32_t first, uint32_t probes,
                        WeightedLookup *lookups, uint32_t *lengths, WeightedCounters *counters) {
  const double *totals = job.index.totals;
  const uint64_t base = job.probes.starts[first];
  SIMJOIN_GRID_STRIDE(n, uint64_t{probes} * weighted_lanes) {
    const auto probe = static_cast<uint32_t>(first + n / weighted_lanes);
    const double total = job.probes.totals[probe];
    const uint32_t begin = lower_bound(totals, 0u, job.index.sets, job.bounds.least_partner(total));
    const double most = job.bounds.most_partner(total);
    const uint32_t end =
        job.self_join ? probe
                      : partition_point(begin, job.index.sets, [&](uint32_t i) { return totals[i] <= most; });
    if (n % weighted_lanes == 0 && begin < end) atomicAdd(&counters->compatible, uint64_t{end - begin});
    const uint64_t last = job.probes.starts[probe + 1];
    for (uint64_t i = job.probes.starts[probe] + n % weighted_lanes; i < last; i += weighted_lanes) {
      const double rest = job.probes.rests[i], heaviest = job.bounds.most_total(total, rest);
      uint32_t end_here = max(begin, end);
      if (begin < end && !(heaviest >= totals[end - 1]))
        end_here = partition_point(begin, end, [&](uint32_t set) { return totals[set] <= heaviest; });
      const uint32_t rank = job.probes.ranks[i];
      const uint64_t list_end = job.starts[rank + 1];
      const auto before = [&](uint32_t set) {
        return [&job, set](uint64_t posting) { return job.postings[posting].set < set; };
      };
      const uint64_t from = partition_point(job.starts[rank], list_end, before(begin));
      const uint64_t to = partition_point(from, list_end, before(end_here));
      lookups[i - base] = {from, job.bounds.least_excess_for(total, rest), probe, rank};
      lengths[i - base] = static_cast<uint32_t>(to - from);
    }
  }
}

// A posting whose excess is large enough.
struct Found {
  uint64_t lookup;
  uint32_t partner;
};

__device__ uint64_t lookup_of(const WeightedLookups &lookups, uint64_t low, uint64_t high, uint64_t entry) {
  return partition_point(low, high, [&](uint64_t i) { return lookups.offsets[i + 1] <= entry; });
}

// Compares a pair, by the lanes of a group: each looks up a token of the partner among those of the probe.
// Ends where a common token comes before the one that was looked up, since that one's look-up has the pair,
// too, or where what remains is too little. Returns whether the pair may qualify. `candidates` counts it once
// among all its look-ups. The whole warp calls it.
__device__ bool compare(const WeightedJob &job, const WeightedLookup &lookup, uint32_t partner, bool active,
                        unsigned long long &candidates) {
  const uint32_t lane = threadIdx.x % weighted_lanes;
  const uint32_t shift = threadIdx.x % warp_threads - lane;
  constexpr unsigned group = (1u << weighted_lanes) - 1;
  const WeightedView &a = job.probes, &b = job.index;
  const uint64_t a_end = a.starts[lookup.probe + 1], b_end = b.starts[partner + 1];
  const double least = job.bounds.least_in_common(a.totals[lookup.probe], b.totals[partner]);
  uint64_t low = a.starts[lookup.probe];
  double seen = 0;
  bool qualifies = false;
  for (uint64_t i = b.starts[partner] + lane; __any_sync(whole_warp, active); i += weighted_lanes) {
    const bool stored = active && i < b_end;
    const uint32_t rank = stored ? b.ranks[i] : 0;
    const uint64_t place = stored ? lower_bound(a.ranks, low, a_end, rank) : a_end;
    const bool common = place < a_end && a.ranks[place] == rank;
    double term = common ? job.bounds.shared(a.weight(place), b.weight(i)) : 0;
    for (uint32_t distance = weighted_lanes / 2; distance > 0; distance /= 2)
      term += __shfl_xor_sync(whole_warp, term, static_cast<int>(distance));
    seen += term;
    const unsigned before = __ballot_sync(whole_warp, common && rank < lookup.rank) >> shift & group;
    const unsigned here = __ballot_sync(whole_warp, common && rank == lookup.rank) >> shift & group;
    low = __shfl_sync(whole_warp, place, weighted_lanes - 1, weighted_lanes);
    if (!active) continue;
    if (here != 0 && before == 0 && lane == 0) ++candidates;
    const uint64_t next = i - lane + weighted_lanes;
    if (before != 0) {
      active = false;
    } else if (next >= b_end || low >= a_end) {
      active = false;
      qualifies = seen >= least;
    } else {
      active = job.bounds.may_reach(seen, a.rests[low], b.rests[next], least);
    }
  }
  return qualifies;
}

__device__ void append(const WeightedPairs &pairs, WeightedPair pair) {
  const unsigned long long position = atomicAdd(&pairs.counters->found, 1ull);
  if (position < pairs.capacity) pairs.pairs[position] = pair;
}

// Each lane looks at a posting. Those with enough excess are compared by groups of lanes.
__global__ void filter(const __grid_constant__ WeightedJob job, const WeightedLookups lookups, uint64_t begin,
                       uint64_t end, uint32_t item, const WeightedPairs pairs) {
  __shared__ uint64_t first, last;
  __shared__ Found found_by_warp[block_warps][warp_threads];
  Found *found = found_by_warp[threadIdx.x / warp_threads];
  const uint32_t lane = threadIdx.x % warp_threads;
  unsigned long long candidates = 0;
  for (uint64_t from = begin + uint64_t{blockIdx.x} * item; from < end; from += uint64_t{gridDim.x} * item) {
    const uint64_t to = min(end, from + item);
    if (threadIdx.x == 0) first = lookup_of(lookups, 0, lookups.count - 1, from);
    if (threadIdx.x == warp_threads) last = lookup_of(lookups, 0, lookups.count - 1, to - 1);
    __syncthreads();
    for (uint64_t base = from + threadIdx.x - lane; base < to; base += block_threads) {
      const uint64_t entry = base + lane;
      Found mine{0, 0};
      bool passes = false;
      if (entry < to) {
        mine.lookup = lookup_of(lookups, first, last, entry);
        const WeightedLookup &lookup = lookups.lookups[mine.lookup];
        const WeightedPosting posting = job.postings[lookup.posting + (entry - lookups.offsets[mine.lookup])];
        mine.partner = posting.set;
        passes = static_cast<double>(posting.excess) >= lookup.least;
      }
      const unsigned passing = __ballot_sync(whole_warp, passes);
      if (passes) found[__popc(passing & ((1u << lane) - 1))] = mine;
      __syncwarp();
      const uint32_t count = __popc(passing);
      for (uint32_t n = lane / weighted_lanes; n - lane / weighted_lanes < count; n += groups_per_warp) {
        const Found &pair = found[min(n, count - 1)];
        const WeightedLookup lookup = lookups.lookups[pair.lookup];
        const bool qualifies = compare(job, lookup, pair.partner, n < count, candidates);
        if (qualifies && lane % weighted_lanes == 0) append(pairs, {lookup.probe, pair.partner});
      }
      __syncwarp();
    }
    __syncthreads();
  }
  if (candidates > 0) atomicAdd(&pairs.counters->candidates, candidates);
}

}  // namespace

void launch_look_up(const Device &device, const WeightedJob &job, uint32_t first, uint32_t end,
                    WeightedLookup *lookups, uint32_t *lengths, WeightedCounters *counters) {
  if (first >= end) return;
  launch(device, look_up, blocks_for(device, end - first, weighted_lanes), job, first, end - first, lookups,
         lengths, counters);
}

void launch_filter(const Device &device, const WeightedJob &job, const WeightedLookups &lookups,
                   uint64_t begin, uint64_t end, uint32_t item, const WeightedPairs &pairs) {
  if (begin >= end) return;
  launch(device, filter, blocks_for(device, (end - begin + item - 1) / item, block_threads), job, lookups,
         begin, end, item, pairs);
}

}  // namespace simjoin::gpu
