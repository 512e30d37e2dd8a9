#include "cuda/filters/prefix_join.hpp"

#include <algorithm>

#include "cuda/base/launch.cuh"
#include "cuda/filters/inverted_index.cuh"
#include "cuda/filters/least_overlap.hpp"
#include "cuda/filters/signature_bits.cuh"

namespace simjoin::gpu {
namespace {

// Classes with longer prefixes have one end of their partners for all positions. They have many sizes, and
// most of their lists are short.
constexpr uint32_t most_positions = 16;
constexpr uint32_t no_ends = UINT32_MAX;
// With at most this many classes of partners, a partner's size is found among them sooner than in its record.
constexpr size_t most_classes = 64;

// The ends of the partners by a token's position in its set. A pair is found by the first token that it
// shares, so as many tokens must be left from there on as the overlap needs. A frequent token at the end of a
// prefix can find small partners only.
struct PartnerEnds {
  std::vector<uint32_t> ends;    // one for each position in the prefix, class after class
  std::vector<uint32_t> begins;  // by class: where its ends begin, or no_ends
};

PartnerEnds partner_ends(const Bounds &bounds, const DeviceSide &own, const DeviceSide &others,
                         const std::vector<PrefixClass> &classes, bool self_join) {
  PartnerEnds found;
  for (size_t i = 0; i < classes.size(); ++i) {
    const PrefixClass &c = classes[i];
    const bool limited = c.probe_prefix > 0 && c.probe_prefix <= most_positions;
    found.begins.push_back(limited ? static_cast<uint32_t>(found.ends.size()) : no_ends);
    if (!limited) continue;
    const int64_t size = own.classes[i].size;
    const uint32_t most = self_join ? own.classes[i + 1].begin : c.end_partner;
    auto end = std::lower_bound(others.classes.begin(), others.classes.end(), most,
                                [](const DeviceSizeClass &a, uint32_t set) { return a.begin < set; });
    for (int64_t position = 0; position < c.probe_prefix; ++position) {
      while (end->begin > c.first_partner &&
             size - bounds.min_overlap(size, std::prev(end)->size) < position) {
        --end;
      }
      found.ends.push_back(end->begin);
    }
  }
  return found;
}

// The look-ups of all probes, and the number of entries that each visits.
struct LookupJob {
  const SetRecord *records;
  const uint32_t *ranks;
  const PrefixClass *classes;
  uint32_t class_count;
  const uint64_t *offsets;     // by probe: its first look-up
  const uint32_t *ends;        // PartnerEnds
  const uint32_t *end_begins;  // by class
  const uint32_t *postings;
  const uint32_t *starts;
  uint32_t probes;  // those before the border
  bool self_join;
};

__global__ void find_entries(const LookupJob job, Lookup *lookups, uint32_t *lengths,
                             unsigned long long *class_entries) {
  SIMJOIN_GRID_STRIDE(n, uint64_t{job.probes} * prefix_lanes) {
    const auto probe = static_cast<uint32_t>(n / prefix_lanes);
    const uint64_t first = job.offsets[probe], last = job.offsets[probe + 1];
    if (first == last) continue;
    const PrefixClass &c = class_of(job.classes, job.class_count, probe);
    const uint32_t most_partners = job.self_join ? probe : c.end_partner;
    const SetRecord &record = job.records[probe];
    const uint32_t ends = job.end_begins[&c - job.classes];
    unsigned long long entries = 0;
    for (uint64_t i = first + n % prefix_lanes; i < last; i += prefix_lanes) {
      const uint64_t position = record.size - record.stored + (i - first);
      const uint32_t end_partner =
          ends == no_ends ? most_partners : min(most_partners, job.ends[ends + position]);
      const uint32_t token = job.ranks[record.start + (i - first)];
      const uint32_t list_end = job.starts[token + 1];
      const uint32_t begin = lower_bound(job.postings, job.starts[token], list_end, c.first_partner);
      const uint32_t end = lower_bound(job.postings, begin, list_end, end_partner);
      lookups[i] = {probe, token, begin};
      lengths[i] = end - begin;
      entries += end - begin;
    }
    const unsigned group = ((1u << prefix_lanes) - 1)
                           << (threadIdx.x % warp_threads / prefix_lanes * prefix_lanes);
    for (uint32_t distance = prefix_lanes / 2; distance > 0; distance /= 2) {
      entries += __shfl_xor_sync(group, entries, static_cast<int>(distance));
    }
    if (n % prefix_lanes == 0 && entries > 0) atomicAdd(&class_entries[&c - job.classes], entries);
  }
}

struct FilterJob {
  LeastOverlap least_overlap;
  const uint32_t *ranks;
  const SetRecord *probe_records;
  const SetRecord *partner_records;
  SignatureView probes;
  SignatureView partners;
  const DeviceSizeClass *partner_classes;  // none if there are many
  uint32_t class_count;
  const uint32_t *postings;
  const Lookup *lookups;
  const uint64_t *offsets;
  uint64_t lookup_count;
  uint64_t entries;
  uint64_t begin_item;
  uint64_t end_item;
  bool self_join;
  CandidateView candidates;
};

__device__ uint32_t partner_size(const FilterJob &job, uint32_t partner) {
  if (job.class_count == 0) return job.partner_records[partner].size;
  const uint32_t next = partition_point(1u, job.class_count,
                                        [&](uint32_t i) { return job.partner_classes[i].begin <= partner; });
  return job.partner_classes[next - 1].size;
}

// Returns whether `token` is the first one that both sets share, and enough tokens follow to reach the
// overlap `needed`.
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
  const SetRecord &a = job.probe_records[found.probe], &b = job.partner_records[partner];
  const uint32_t needed = job.least_overlap(a.size, partner_size(job, partner));
  // Lists are long where there are many sets, and then each further read of a partner's is one of memory. So
  // its excess is read only if that of the probe would do.
  const uint32_t shared = shared_bits(job.probes, r, job.partners, s), excess = job.probes.excess[r];
  if (shared + excess < needed || shared + min(excess, job.partners.excess[s]) < needed) return;
  if (!first_and_promising(job, a, b, found.token, needed)) return;
  const unsigned long long position = atomicAdd(&job.candidates.counters->candidates, 1ull);
  if (position >= job.candidates.capacity) return;
  // In a self-join, the probe is the later of the two.
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

std::vector<PrefixClass> plan_probes(const Bounds &bounds, const DeviceCollection &collection, bool self_join,
                                     uint32_t border) {
  std::vector<PrefixClass> classes = plan_classes(
      bounds, collection.sides[0], collection.sides[self_join ? 0 : 1], self_join, IndexedPart::prefixes);
  leave_out(classes, border);
  return classes;
}

// Returns the end of the partners of the probes before `border`.
uint32_t partners_end(const std::vector<PrefixClass> &probe_classes, bool self_join, uint32_t border) {
  if (self_join) return border;
  uint32_t end = 0;
  for (const PrefixClass &c : probe_classes) {
    if (c.begin < border) end = std::max(end, c.end_partner);
  }
  return end;
}

}  // namespace

DevicePrefixIndex::DevicePrefixIndex(Device &device, const Bounds &bounds, const DeviceCollection &collection,
                                     bool self_join, uint32_t border, const StopFlag &stop)
    : DevicePrefixIndex(device, bounds, collection, self_join,
                        plan_probes(bounds, collection, self_join, border), border, stop) {}

DevicePrefixIndex::DevicePrefixIndex(Device &device, const Bounds &bounds, const DeviceCollection &collection,
                                     bool self_join, const std::vector<PrefixClass> &probe_classes,
                                     uint32_t border, const StopFlag &stop)
    : end_partner_(partners_end(probe_classes, self_join, border)),
      lists_(device, collection, bounds, self_join, IndexedPart::prefixes, end_partner_, stop) {
  const std::vector<DeviceSizeClass> &sizes = collection.sides[self_join ? 0 : 1].classes;
  if (sizes.size() <= most_classes) partner_classes_ = upload_table(device, sizes);
  look_up(device, bounds, collection, border, probe_classes, self_join, stop);
  stop.check();
}

void DevicePrefixIndex::look_up(Device &device, const Bounds &bounds, const DeviceCollection &collection,
                                uint32_t probes, const std::vector<PrefixClass> &probe_classes,
                                bool self_join, const StopFlag &stop) {
  const DeviceBuffer<PrefixClass> classes = upload_table(device, probe_classes);
  uint64_t count = 0;
  class_entries_.assign(classes.size(), 0);
  probe_offsets_ = prefix_offsets(device, collection.sides[0], classes, false, count);
  stop.check();
  if (count == 0) return;
  lookups_ = DeviceBuffer<Lookup>(device, count);
  DeviceBuffer<uint32_t> lengths(device, count + 1);
  SIMJOIN_DEVICE_CALL(cudaMemsetAsync(lengths.data() + count, 0, sizeof(uint32_t), device.stream()));
  const PartnerEnds of_positions = partner_ends(
      bounds, collection.sides[0], collection.sides[self_join ? 0 : 1], probe_classes, self_join);
  const DeviceBuffer<uint32_t> ends = upload_table(device, of_positions.ends);
  const DeviceBuffer<uint32_t> end_begins = upload_table(device, of_positions.begins);
  const LookupJob job{collection.sides[0].records.data(),
                      collection.ranks.data(),
                      classes.data(),
                      static_cast<uint32_t>(classes.size()),
                      probe_offsets_.data(),
                      ends.data(),
                      end_begins.data(),
                      lists_.postings(),
                      lists_.starts(),
                      probes,
                      self_join};
  DeviceBuffer<unsigned long long> class_entries(device, classes.size());
  class_entries.fill(0);
  launch(device, find_entries, blocks_for(device, probes, prefix_lanes), job, lookups_.data(), lengths.data(),
         class_entries.data());
  offsets_ = DeviceBuffer<uint64_t>(device, count + 1);
  scan_counts(device, lengths.data(), offsets_.data(), count + 1);
  static_assert(sizeof(unsigned long long) == sizeof(uint64_t));
  copy_to_host(device, class_entries_.data(), reinterpret_cast<const uint64_t *>(class_entries.data()),
               class_entries_.size());
  entries_ = read_value(device, offsets_.data() + count);
}

uint64_t DevicePrefixIndex::entries_before(Device &device, uint32_t probe) const {
  if (entries_ == 0) return 0;
  return read_value(device, offsets_.data() + read_value(device, probe_offsets_.data() + probe));
}

void launch_prefix_filter(Device &device, const Bounds &bounds, const DeviceCollection &collection,
                          bool self_join, const DevicePrefixIndex &index, uint64_t entries,
                          const SignatureView &probes, const SignatureView &partners, uint64_t begin,
                          uint64_t end, const CandidateView &candidates) {
  if (begin >= end) return;
  const FilterJob job{LeastOverlap(bounds),
                      collection.ranks.data(),
                      collection.sides[0].records.data(),
                      collection.sides[self_join ? 0 : 1].records.data(),
                      probes,
                      partners,
                      index.partner_classes().data(),
                      static_cast<uint32_t>(index.partner_classes().size()),
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
