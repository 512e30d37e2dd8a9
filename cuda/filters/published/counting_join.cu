#include "cuda/filters/published/counting_join.hpp"

#include <algorithm>

#include "cuda/base/launch.cuh"
#include "cuda/filters/inverted_index.cuh"

namespace simjoin::gpu {

struct CountingJob {
  Bounds bounds;
  IndexedPart part;
  bool self_join;
  const uint32_t *ranks;
  const SetRecord *probes;
  const SetRecord *partners;
  uint32_t probe_count;
  const PrefixClass *classes;
  uint32_t class_count;
  const uint32_t *postings, *starts;
  const uint64_t *first_item;
  uint32_t *slots;
  uint64_t begin_item = 0, end_item = 0;
  CandidateView candidates = {};
  uint32_t *left = nullptr, *right = nullptr, *overlap = nullptr;
};

namespace {

constexpr unsigned counting_threads = 512;
constexpr unsigned counting_warps = counting_threads / warp_threads;
// Words of one thread block's counters: three blocks share a multiprocessor.
constexpr uint32_t table_words = 16384;
// A probe whose lists have at most this many entries counts in a hash table. A slot has a key and a count.
constexpr uint32_t hash_slots = table_words / 2;
constexpr uint32_t most_hashed = hash_slots / 2;
constexpr uint32_t least_slots = counting_threads;
// A probe with more entries is divided into several items, so that an item takes less than about a
// millisecond.
constexpr uint64_t most_item_entries = uint64_t{4} << 20;
// The longest list that one lane walks alone. The whole warp walks longer ones.
constexpr uint32_t short_list = 8;
constexpr uint32_t items_per_grab = 16;

// The tokens of a probe to look up, and the range of its partners.
struct Probe {
  const uint32_t *tokens;
  uint32_t count;
  uint32_t first;
  uint32_t end;
};

__device__ Probe probe_of(const CountingJob &job, uint32_t number) {
  const SetRecord &record = job.probes[number];
  const PrefixClass &c = class_of(job.classes, job.class_count, number);
  const uint32_t end = job.self_join ? min(number, c.end_partner) : c.end_partner;
  return {job.ranks + record.start, stored_prefix(record, c.probe_prefix), c.first_partner,
          max(end, c.first_partner)};
}

// Returns the bits of a counter. No count exceeds the number of tokens looked up.
__device__ uint32_t counter_bits(uint32_t tokens) {
  return tokens < 1u << 8 ? 8 : tokens < 1u << 16 ? 16 : 32;
}

// Part of a token's list.
struct List {
  uint32_t begin, end;
};
__device__ List find_list(const CountingJob &job, uint32_t token, uint32_t first, uint32_t end) {
  const uint32_t list_end = job.starts[token + 1];
  const uint32_t low = lower_bound(job.postings, job.starts[token], list_end, first);
  return {low, lower_bound(job.postings, low, list_end, end)};
}

// Plans the items of each probe and adds up the entries. One warp per probe.
__global__ void count_items(const __grid_constant__ CountingJob job, uint32_t *items,
                            unsigned long long *entries) {
  const uint32_t lane = threadIdx.x % warp_threads;
  const uint64_t warps = uint64_t{gridDim.x} * block_warps;
  for (uint64_t n = uint64_t{blockIdx.x} * block_warps + threadIdx.x / warp_threads; n < job.probe_count;
       n += warps) {
    const auto number = static_cast<uint32_t>(n);
    const Probe probe = probe_of(job, number);
    unsigned long long sum = 0;
    for (uint32_t i = lane; i < probe.count; i += warp_threads) {
      const List list = find_list(job, probe.tokens[i], probe.first, probe.end);
      sum += list.end - list.begin;
    }
    for (int distance = warp_threads / 2; distance > 0; distance /= 2) {
      sum += __shfl_xor_sync(~0u, sum, distance);
    }
    if (lane != 0) continue;
    const uint64_t counters = uint64_t{table_words} * 32 / counter_bits(probe.count);
    const uint64_t ranges = (probe.end - probe.first + counters - 1) / counters;
    const uint64_t parts = max(ranges, uint64_t{sum} / most_item_entries + 1);
    uint32_t slots = 0;
    if (sum <= most_hashed) {
      for (slots = least_slots; slots < 2 * sum;) slots *= 2;
    }
    job.slots[n] = slots;
    items[n] = sum == 0 ? 0 : slots > 0 ? 1 : static_cast<uint32_t>(parts);
    if (sum > 0) atomicAdd(entries, sum);
  }
}

// One item, as all threads of its block see it.
struct Item {
  uint32_t number;  // number of the probe
  Probe probe;      // with the item's range of partners
  uint32_t bits;    // of a counter; 0 if counters are hashed
  uint32_t slots;   // of the hash table
  uint32_t least;   // fewest shared tokens of a qualifying pair of the range
};

__device__ Item make_item(const CountingJob &job, uint32_t number, uint64_t part, uint64_t parts) {
  Item item{number, probe_of(job, number), 0, job.slots[number], 1};
  if (item.slots == 0) {
    const uint64_t range = item.probe.end - item.probe.first;
    item.bits = counter_bits(item.probe.count);
    const uint32_t first = item.probe.first;
    item.probe.end = static_cast<uint32_t>(first + range * (part + 1) / parts);
    item.probe.first = static_cast<uint32_t>(first + range * part / parts);
  }
  if (job.part != IndexedPart::prefixes && item.probe.first < item.probe.end) {
    const uint32_t smallest = max(1u, job.partners[item.probe.first].size);
    item.least = static_cast<uint32_t>(job.bounds.min_overlap(job.probes[number].size, smallest));
  }
  return item;
}

__device__ void count_one(const Item &item, uint32_t *table, uint32_t partner) {
  if (item.bits > 0) {
    const uint32_t bit = (partner - item.probe.first) * item.bits;
    atomicAdd(&table[bit / 32], 1u << bit % 32);
    return;
  }
  const uint32_t key = partner + 1;  // 0 marks an empty slot
  uint32_t slot = key * 2654435761u >> 16;
  for (;; ++slot) {
    slot &= item.slots - 1;
    const uint32_t found = atomicCAS(&table[slot], 0u, key);
    if (found == 0 || found == key) break;
  }
  atomicAdd(&table[hash_slots + slot], 1u);
}

// Counts the item's lists. Each lane finds the list of one token, and tokens are distributed among the warps.
__device__ void count_lists(const CountingJob &job, const Item &item, uint32_t *table) {
  const uint32_t lane = threadIdx.x % warp_threads, warp = threadIdx.x / warp_threads;
  for (uint32_t base = 0; base < item.probe.count; base += counting_threads) {
    const uint32_t i = base + lane * counting_warps + warp;
    List list{0, 0};
    if (i < item.probe.count) list = find_list(job, item.probe.tokens[i], item.probe.first, item.probe.end);
    unsigned long_lists = __ballot_sync(~0u, list.end - list.begin > short_list);
    if (list.end - list.begin <= short_list) {
      for (uint32_t entry = list.begin; entry < list.end; ++entry)
        count_one(item, table, job.postings[entry]);
    }
    __syncwarp();
    for (; long_lists != 0; long_lists &= long_lists - 1) {
      const int source = __ffs(long_lists) - 1;
      const uint32_t begin = __shfl_sync(~0u, list.begin, source), end = __shfl_sync(~0u, list.end, source);
#pragma unroll 4
      for (uint32_t entry = begin + lane; entry < end; entry += warp_threads) {
        count_one(item, table, job.postings[entry]);
      }
    }
  }
}

// Appends a pair for each lane of the warp with `found` set.
__device__ void append(const CountingJob &job, const Item &item, bool found, uint32_t partner,
                       uint32_t overlap) {
  const unsigned finders = __ballot_sync(~0u, found);
  if (finders == 0) return;
  const uint32_t lane = threadIdx.x % warp_threads;
  unsigned long long position = 0;
  if (lane == 0) {
    position =
        atomicAdd(&job.candidates.counters->candidates, static_cast<unsigned long long>(__popc(finders)));
  }
  position = __shfl_sync(~0u, position, 0) + __popc(finders & ((1u << lane) - 1));
  if (!found || position >= job.candidates.capacity) return;
  if (job.part == IndexedPart::prefixes) {
    job.candidates.pairs[position] = {item.number, partner};
    return;
  }
  const uint32_t row = job.probes[item.number].row, other = job.partners[partner].row;
  const bool swap = job.self_join && row > other;
  job.left[position] = swap ? other : row;
  job.right[position] = swap ? row : other;
  job.overlap[position] = overlap;
}

// Returns whether `count` shared tokens are enough.
__device__ bool qualifies(const CountingJob &job, const Item &item, uint32_t partner, uint32_t count) {
  if (count < item.least) return false;
  return job.part == IndexedPart::prefixes ||
         job.bounds.satisfied(count, job.probes[item.number].size, job.partners[partner].size);
}

// Appends the counted pairs that qualify, and clears the table.
__device__ void sweep_counters(const CountingJob &job, const Item &item, uint32_t *table) {
  const uint32_t range = item.probe.end - item.probe.first, counters = 32 / item.bits;
  const uint32_t words = (range + counters - 1) / counters;
  const uint32_t mask = item.bits == 32 ? ~0u : (1u << item.bits) - 1;
  for (uint32_t base = 0; base < words; base += counting_threads) {
    const uint32_t word = base + threadIdx.x;
    const uint32_t counts = word < words ? table[word] : 0;
    if (counts != 0) table[word] = 0;
    if (!__any_sync(~0u, counts != 0)) continue;
    for (uint32_t i = 0; i < counters; ++i) {
      const uint32_t count = counts >> i * item.bits & mask;
      const uint32_t partner = item.probe.first + word * counters + i;
      append(job, item, count > 0 && qualifies(job, item, partner, count), partner, count);
    }
  }
}

__device__ void sweep_slots(const CountingJob &job, const Item &item, uint32_t *table) {
  for (uint32_t slot = threadIdx.x; slot < item.slots; slot += counting_threads) {
    const uint32_t key = table[slot], count = table[hash_slots + slot];
    if (key != 0) {
      table[slot] = 0;
      table[hash_slots + slot] = 0;
    }
    append(job, item, key != 0 && qualifies(job, item, key - 1, count), key - 1, count);
  }
}

// Returns the probe of `item`, searching from `number` on. All lanes of a warp must take part.
__device__ uint32_t advance(const CountingJob &job, uint32_t number, uint64_t item) {
  const uint32_t lane = threadIdx.x % warp_threads;
  for (;;) {
    const uint64_t next = uint64_t{number} + 1 + lane;
    const unsigned before = __ballot_sync(~0u, next < job.probe_count && job.first_item[next] <= item);
    number += __popc(before);
    if (before != ~0u) return number;
  }
}

__global__ __launch_bounds__(counting_threads) void run_items(const __grid_constant__ CountingJob job) {
  extern __shared__ uint32_t table[];
  __shared__ Item item;
  __shared__ uint32_t grabbed;
  for (uint32_t i = threadIdx.x; i < table_words; i += counting_threads) table[i] = 0;
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) grabbed = atomicAdd(&job.candidates.counters->next_item, items_per_grab);
    __syncthreads();
    const uint64_t first = job.begin_item + grabbed;
    if (first >= job.end_item) return;
    uint32_t number = 0;
    if (threadIdx.x < warp_threads) {
      uint32_t low = 0, high = job.probe_count - 1;
      while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        if (job.first_item[middle] <= first) {
          low = middle;
        } else {
          high = middle - 1;
        }
      }
      number = low;
    }
    for (uint64_t i = first; i < min(first + items_per_grab, job.end_item); ++i) {
      if (threadIdx.x < warp_threads) {
        number = advance(job, number, i);
        const uint64_t own = job.first_item[number], end = job.first_item[number + 1];
        if (threadIdx.x == 0) item = make_item(job, number, i - own, end - own);
      }
      __syncthreads();
      count_lists(job, item, table);
      __syncthreads();
      if (item.bits > 0) {
        sweep_counters(job, item, table);
      } else {
        sweep_slots(job, item, table);
      }
      __syncthreads();
    }
  }
}

}  // namespace

CountingJoin::CountingJoin(Device &device, const Bounds &bounds, const DeviceCollection &collection,
                           bool self_join, IndexedPart part, const StopFlag &stop)
    : bounds_(bounds),
      collection_(collection),
      self_join_(self_join),
      part_(part),
      lists_(device, collection, bounds, self_join, part, collection.sides[self_join ? 0 : 1].sets, stop) {
  const DeviceSide &probes = collection.sides[0], &partners = collection.sides[self_join ? 0 : 1];
  const std::vector<PrefixClass> classes = plan_classes(bounds, probes, partners, self_join, part);
  class_count_ = static_cast<uint32_t>(classes.size());
  classes_ = upload_table(device, classes);
  slots_ = DeviceBuffer<uint32_t>(device, probes.sets);
  DeviceBuffer<uint32_t> items(device, size_t{probes.sets} + 1);
  DeviceBuffer<unsigned long long> entries(device, 1);
  items.fill(0);
  entries.fill(0);
  launch(device, count_items, blocks_for(device, probes.sets, warp_threads), make_job(nullptr), items.data(),
         entries.data());
  first_item_ = DeviceBuffer<uint64_t>(device, size_t{probes.sets} + 1);
  scan_counts(device, items.data(), first_item_.data(), uint64_t{probes.sets} + 1);
  entries_ = read_value(device, entries.data());
  items_ = read_value(device, first_item_.data() + probes.sets);
  stop.check();
}

CountingJob CountingJoin::make_job(const CandidateBuffer *out) const {
  const DeviceSide &probes = collection_.sides[0], &partners = collection_.sides[self_join_ ? 0 : 1];
  CountingJob job{bounds_,
                  part_,
                  self_join_,
                  collection_.ranks.data(),
                  probes.records.data(),
                  partners.records.data(),
                  probes.sets,
                  classes_.data(),
                  class_count_,
                  lists_.postings(),
                  lists_.starts(),
                  first_item_.data(),
                  slots_.data()};
  if (out != nullptr) {
    job.candidates = out->view();
    job.left = out->results.left.data();
    job.right = out->results.right.data();
    job.overlap = out->results.overlap.data();
  }
  return job;
}

void CountingJoin::launch_items(Device &device, uint64_t begin, uint64_t end,
                                const CandidateBuffer &out) const {
  if (begin >= end) return;
  CountingJob job = make_job(&out);
  job.begin_item = begin;
  job.end_item = end;
  constexpr unsigned blocks_per_processor = 3;
  const auto blocks = static_cast<unsigned>(
      std::min<uint64_t>(static_cast<uint64_t>(device.processors()) * blocks_per_processor,
                         (end - begin + items_per_grab - 1) / items_per_grab));
  launch(device, run_items, LaunchShape(blocks, counting_threads, table_words * sizeof(uint32_t)), job);
}

}  // namespace simjoin::gpu
