#include "cuda/prefix_join.hpp"

#include <algorithm>
#include <bit>
#include <cub/cub.cuh>

#include "cuda/launch.cuh"

namespace simjoin::gpu {
namespace {

__device__ const PrefixClass &class_of(const PrefixClass *classes, uint32_t count, uint32_t set) {
  uint32_t low = 0, high = count - 1;
  while (low < high) {
    const uint32_t middle = low + (high - low + 1) / 2;
    if (classes[middle].begin <= set) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return classes[low];
}

// Returns how many of a set's first `prefix` tokens are stored: those without a rank are its rarest.
__device__ uint32_t stored_prefix(const SetRecord &record, uint32_t prefix) {
  const uint32_t dropped = record.size - record.stored;
  return prefix > dropped ? min(prefix - dropped, record.stored) : 0;
}

__global__ void count_prefixes(const SetRecord *records, uint32_t sets, const PrefixClass *classes,
                               uint32_t class_count, bool index, uint32_t *counts) {
  SIMJOIN_GRID_STRIDE(i, sets) {
    const auto set = static_cast<uint32_t>(i);
    const PrefixClass &c = class_of(classes, class_count, set);
    counts[i] = stored_prefix(records[set], index ? c.index_prefix : c.probe_prefix);
  }
}

__global__ void list_prefixes(const SetRecord *records, uint32_t sets, const uint32_t *ranks,
                              const uint64_t *offsets, uint32_t *tokens, uint32_t *numbers) {
  SIMJOIN_GRID_STRIDE(set, sets) {
    const uint64_t start = records[set].start;
    for (uint64_t i = offsets[set]; i < offsets[set + 1]; ++i) {
      tokens[i] = ranks[start + (i - offsets[set])];
      numbers[i] = static_cast<uint32_t>(set);
    }
  }
}

// starts[token] = the first entry of the ascending `tokens` that is not below.
__global__ void find_lists(const uint32_t *tokens, uint64_t count, uint32_t ranks, uint32_t *starts) {
  SIMJOIN_GRID_STRIDE(i, count + 1) {
    const uint64_t first = i == 0 ? 0 : uint64_t{tokens[i - 1]} + 1;
    const uint64_t last = i == count ? ranks : tokens[i];
    for (uint64_t token = first; token <= last; ++token) starts[token] = static_cast<uint32_t>(i);
  }
}

__device__ uint32_t lower_bound(const uint32_t *values, uint32_t low, uint32_t high, uint32_t value) {
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (values[middle] < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The look-ups of the probes [begin, end), and how many entries each visits.
struct LookupJob {
  const SetRecord *records;
  const uint32_t *ranks;
  const PrefixClass *classes;
  uint32_t class_count;
  const uint64_t *offsets;  // of each probe's look-ups
  const uint32_t *postings;
  const uint32_t *starts;
  uint32_t probes;
  bool self_join;
};

__global__ void find_entries(const LookupJob job, Lookup *lookups, uint32_t *lengths,
                             unsigned long long *class_entries) {
  SIMJOIN_GRID_STRIDE(n, job.probes) {
    const auto probe = static_cast<uint32_t>(n);
    const uint64_t first = job.offsets[n], last = job.offsets[n + 1];
    if (first == last) continue;
    const PrefixClass &c = class_of(job.classes, job.class_count, probe);
    const uint32_t end_partner = job.self_join ? probe : c.end_partner;
    const uint64_t start = job.records[probe].start;
    unsigned long long entries = 0;
    for (uint64_t i = first; i < last; ++i) {
      const uint32_t token = job.ranks[start + (i - first)];
      const uint32_t list_end = job.starts[token + 1];
      const uint32_t begin = lower_bound(job.postings, job.starts[token], list_end, c.first_partner);
      const uint32_t end = lower_bound(job.postings, begin, list_end, end_partner);
      lookups[i] = {probe, token, begin};
      lengths[i] = end - begin;
      entries += end - begin;
    }
    if (entries > 0) atomicAdd(&class_entries[&c - job.classes], entries);
  }
}

struct FilterJob {
  Bounds bounds;
  Measure measure;
  float factor;  // see least_overlap()
  const uint32_t *ranks;
  const SetRecord *probe_records;
  const SetRecord *partner_records;
  SignatureView probes;
  SignatureView partners;
  const uint32_t *postings;
  const Lookup *lookups;
  const uint64_t *offsets;
  uint64_t lookup_count;
  uint64_t entries;
  uint32_t begin_item;
  uint32_t end_item;
  bool self_join;
  CandidateView candidates;
};

// Returns a number of tokens that no qualifying pair of these sizes shares less of: an estimate from below,
// cheaper than Bounds::min_overlap and at most one less. Verification has the exact bound.
__device__ uint32_t least_overlap(const FilterJob &job, uint32_t r, uint32_t s) {
  constexpr float slack = 0.99999f;
  float overlap = job.factor;
  if (job.measure == Measure::cosine) {
    overlap *= sqrtf(static_cast<float>(r)) * sqrtf(static_cast<float>(s));
  } else if (job.measure != Measure::overlap) {
    overlap *= static_cast<float>(r) + static_cast<float>(s);
  }
  return static_cast<uint32_t>(fminf(ceilf(overlap * slack), 4e9f));
}

__device__ uint32_t shared_bits(const FilterJob &job, uint32_t r, uint32_t s) {
  const auto *a = reinterpret_cast<const uint4 *>(job.probes.words + signature_word(r, 1, 0, 0));
  const auto *b = reinterpret_cast<const uint4 *>(job.partners.words + signature_word(s, 1, 0, 0));
  uint32_t shared = 0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const uint4 x = a[half], y = b[half];
    shared += __popc(x.x & y.x) + __popc(x.y & y.y) + __popc(x.z & y.z) + __popc(x.w & y.w);
  }
  return shared;
}

// Returns whether `token` is the first that the two sets share, and whether what follows it can still make up
// the overlap that is needed.
__device__ bool first_and_promising(const FilterJob &job, const SetRecord &a, const SetRecord &b,
                                    uint32_t token, uint32_t needed) {
  const uint32_t *x = job.ranks + a.start, *y = job.ranks + b.start;
  while (*x < token || *y < token) {
    if (*x == *y) return false;
    if (*x < *y) {
      ++x;
    } else {
      ++y;
    }
  }
  const uint64_t left_a = a.stored - static_cast<uint64_t>(x - (job.ranks + a.start));
  const uint64_t left_b = b.stored - static_cast<uint64_t>(y - (job.ranks + b.start));
  return min(left_a, left_b) >= needed;
}

__device__ uint64_t last_at_most(const uint64_t *offsets, uint64_t low, uint64_t high, uint64_t value) {
  while (low < high) {
    const uint64_t middle = low + (high - low + 1) / 2;
    if (offsets[middle] <= value) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

__device__ void visit(const FilterJob &job, uint64_t lookup, uint64_t entry) {
  const Lookup found = job.lookups[lookup];
  const uint32_t partner = job.postings[found.begin + (entry - job.offsets[lookup])];
  const uint32_t r = found.probe - job.probes.first, s = partner - job.partners.first;
  const uint32_t shared = shared_bits(job, r, s) + min(job.probes.excess[r], job.partners.excess[s]);
  const SetRecord &a = job.probe_records[found.probe], &b = job.partner_records[partner];
  const uint32_t needed = least_overlap(job, a.size, b.size);
  if (shared < needed || !first_and_promising(job, a, b, found.token, needed)) return;
  const unsigned long long position = atomicAdd(&job.candidates.counters->candidates, 1ull);
  if (position >= job.candidates.capacity) return;
  // In a self-join the probe is the later one of the two.
  job.candidates.pairs[position] = {found.probe, partner};
}

__global__ void filter_entries(const __grid_constant__ FilterJob job) {
  __shared__ uint64_t first, last;
  for (uint64_t item = job.begin_item + blockIdx.x; item < job.end_item; item += gridDim.x) {
    const uint64_t begin = item * prefix_item_entries;
    const uint64_t end = min(job.entries, begin + prefix_item_entries);
    if (threadIdx.x == 0) first = last_at_most(job.offsets, 0, job.lookup_count - 1, begin);
    if (threadIdx.x == warp_threads) last = last_at_most(job.offsets, 0, job.lookup_count - 1, end - 1);
    __syncthreads();
    for (uint64_t entry = begin + threadIdx.x; entry < end; entry += block_threads) {
      visit(job, last_at_most(job.offsets, first, last, entry), entry);
    }
    __syncthreads();
  }
}

// What holds for the sets of each size: how much of their prefixes matters, and who can be their partners.
std::vector<PrefixClass> plan_classes(const Bounds &bounds, const DeviceSide &own, const DeviceSide &others,
                                      bool self_join) {
  const int64_t largest = others.classes.end()[-2].size;
  std::vector<PrefixClass> classes;
  for (size_t i = 0; i + 1 < own.classes.size(); ++i) {
    const int64_t size = own.classes[i].size;
    PrefixClass c{own.classes[i].begin, 0, 0, 0, 0};
    const int64_t smallest = size == 0 ? 1 : bounds.min_partner(size);
    if (size > 0 && smallest <= largest) {
      c.first_partner = others.lower_bound(static_cast<uint64_t>(smallest));
      c.end_partner = others.lower_bound(static_cast<uint64_t>(bounds.max_partner(size, largest)) + 1);
      c.probe_prefix = static_cast<uint32_t>(bounds.prefix_length(size, smallest));
      // In a self-join the listed sets are the smaller ones of their pairs.
      c.index_prefix = self_join ? static_cast<uint32_t>(bounds.prefix_length(size, size)) : c.probe_prefix;
    }
    classes.push_back(c);
  }
  return classes;
}

template <typename In, typename Out>
void scan(Device &device, const In *in, Out *out, uint64_t count) {
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceScan::ExclusiveScan(scratch, bytes, in, out, cuda::std::plus<Out>{}, Out{0},
                                          static_cast<int64_t>(count), device.stream());
  });
}

// Returns the offsets of the sets' prefixes, with the sum at the end.
DeviceBuffer<uint64_t> prefix_offsets(Device &device, const DeviceSide &side,
                                      const DeviceBuffer<PrefixClass> &classes, bool index, uint64_t &sum) {
  const uint64_t sets = side.sets;
  DeviceBuffer<uint32_t> counts(device, sets + 1);
  counts.fill(0);
  launch(device, count_prefixes, blocks_for(device, sets), side.records.data(), side.sets, classes.data(),
         static_cast<uint32_t>(classes.size()), index, counts.data());
  DeviceBuffer<uint64_t> offsets(device, sets + 1);
  scan(device, counts.data(), offsets.data(), sets + 1);
  sum = read_value(device, offsets.data() + sets);
  if (sum >= UINT32_MAX)
    throw Error(ErrorKind::limit_exceeded, "the prefixes have too many tokens for the GPU");
  return offsets;
}

float overlap_factor(const Bounds &bounds) {
  const double t = bounds.threshold();
  switch (bounds.measure()) {
    case Measure::jaccard:
      return static_cast<float>(t / (1 + t));
    case Measure::dice:
      return static_cast<float>(t / 2);
    default:
      return static_cast<float>(t);
  }
}

}  // namespace

PrefixIndex::PrefixIndex(Device &device, const Bounds &bounds, const DeviceCollection &collection,
                         bool self_join) {
  const DeviceSide &probes = collection.sides[0], &partners = collection.sides[self_join ? 0 : 1];
  const std::vector<PrefixClass> probe_classes = plan_classes(bounds, probes, partners, self_join);
  DeviceBuffer<PrefixClass> probe_table(device, probe_classes.size());
  copy_to_device(device, probe_table.data(), probe_classes.data(), probe_classes.size());
  if (self_join) {
    index_partners(device, collection, partners, probe_table);
  } else {
    const std::vector<PrefixClass> partner_classes = plan_classes(bounds, partners, probes, self_join);
    DeviceBuffer<PrefixClass> partner_table(device, partner_classes.size());
    copy_to_device(device, partner_table.data(), partner_classes.data(), partner_classes.size());
    index_partners(device, collection, partners, partner_table);
  }
  look_up(device, collection, probes, probe_table, self_join);
}

void PrefixIndex::index_partners(Device &device, const DeviceCollection &collection,
                                 const DeviceSide &partners, const DeviceBuffer<PrefixClass> &classes) {
  uint64_t count = 0;
  const DeviceBuffer<uint64_t> offsets = prefix_offsets(device, partners, classes, true, count);
  DeviceBuffer<uint32_t> tokens(device, count), sorted_tokens(device, count), numbers(device, count);
  postings_ = DeviceBuffer<uint32_t>(device, count);
  launch(device, list_prefixes, blocks_for(device, partners.sets), partners.records.data(), partners.sets,
         collection.ranks.data(), offsets.data(), tokens.data(), numbers.data());
  if (count > 0) {
    with_scratch(device, [&](void *scratch, size_t &bytes) {
      return cub::DeviceRadixSort::SortPairs(
          scratch, bytes, tokens.data(), sorted_tokens.data(), numbers.data(), postings_.data(),
          static_cast<int64_t>(count), 0,
          std::max(1, static_cast<int>(std::bit_width(collection.rank_count))), device.stream());
    });
  }
  starts_ = DeviceBuffer<uint32_t>(device, size_t{collection.rank_count} + 1);
  launch(device, find_lists, blocks_for(device, count + 1), sorted_tokens.data(), count,
         collection.rank_count, starts_.data());
}

void PrefixIndex::look_up(Device &device, const DeviceCollection &collection, const DeviceSide &probes,
                          const DeviceBuffer<PrefixClass> &classes, bool self_join) {
  uint64_t count = 0;
  class_entries_.assign(classes.size(), 0);
  probe_offsets_ = prefix_offsets(device, probes, classes, false, count);
  if (count == 0) return;
  lookups_ = DeviceBuffer<Lookup>(device, count);
  DeviceBuffer<uint32_t> lengths(device, count + 1);
  SIMJOIN_DEVICE_CALL(cudaMemsetAsync(lengths.data() + count, 0, sizeof(uint32_t), device.stream()));
  const LookupJob job{probes.records.data(),
                      collection.ranks.data(),
                      classes.data(),
                      static_cast<uint32_t>(classes.size()),
                      probe_offsets_.data(),
                      postings_.data(),
                      starts_.data(),
                      probes.sets,
                      self_join};
  DeviceBuffer<unsigned long long> class_entries(device, classes.size());
  class_entries.fill(0);
  launch(device, find_entries, blocks_for(device, probes.sets), job, lookups_.data(), lengths.data(),
         class_entries.data());
  offsets_ = DeviceBuffer<uint64_t>(device, count + 1);
  scan(device, lengths.data(), offsets_.data(), count + 1);
  static_assert(sizeof(unsigned long long) == sizeof(uint64_t));
  copy_to_host(device, class_entries_.data(), reinterpret_cast<const uint64_t *>(class_entries.data()),
               class_entries_.size());
  entries_ = read_value(device, offsets_.data() + count);
}

uint64_t PrefixIndex::entries_before(Device &device, uint32_t probe) const {
  if (entries_ == 0) return 0;
  return read_value(device, offsets_.data() + read_value(device, probe_offsets_.data() + probe));
}

void launch_prefix_filter(Device &device, const Bounds &bounds, const DeviceCollection &collection,
                          bool self_join, const PrefixIndex &index, uint64_t entries,
                          const SignatureView &probes, const SignatureView &partners, uint32_t begin,
                          uint32_t end, const CandidateView &candidates) {
  if (begin >= end) return;
  const FilterJob job{bounds,
                      bounds.measure(),
                      overlap_factor(bounds),
                      collection.ranks.data(),
                      collection.sides[0].records.data(),
                      collection.sides[self_join ? 0 : 1].records.data(),
                      probes,
                      partners,
                      index.postings(),
                      index.lookups(),
                      index.offsets(),
                      index.lookup_count(),
                      entries,
                      begin,
                      end,
                      self_join,
                      candidates};
  launch(device, filter_entries, blocks_for(device, end - begin, block_threads), job);
}

}  // namespace simjoin::gpu
