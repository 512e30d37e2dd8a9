#include <algorithm>
#include <bit>
#include <cub/cub.cuh>

#include "cuda/base/cub_count.cuh"
#include "cuda/base/launch.cuh"
#include "cuda/filters/inverted_index.cuh"

namespace simjoin::gpu {
namespace {

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
  SIMJOIN_GRID_STRIDE(n, uint64_t{sets} * prefix_lanes) {
    const uint64_t set = n / prefix_lanes, first = offsets[set], end = offsets[set + 1];
    const uint64_t start = records[set].start;
    for (uint64_t i = first + n % prefix_lanes; i < end; i += prefix_lanes) {
      tokens[i] = ranks[start + (i - first)];
      numbers[i] = static_cast<uint32_t>(set);
    }
  }
}

// Sets starts[token] to the index of the first of the ascending `tokens` that is not below `token`.
__global__ void find_lists(const uint32_t *tokens, uint64_t count, uint32_t ranks, uint32_t *starts) {
  SIMJOIN_GRID_STRIDE(token, uint64_t{ranks} + 1)
  starts[token] =
      static_cast<uint32_t>(lower_bound(tokens, uint64_t{0}, count, static_cast<uint32_t>(token)));
}

}  // namespace

std::vector<PrefixClass> plan_classes(const Bounds &bounds, const DeviceSide &own, const DeviceSide &others,
                                      bool self_join, IndexedPart part) {
  const int64_t largest = others.classes.end()[-2].size;
  std::vector<PrefixClass> classes;
  for (size_t i = 0; i + 1 < own.classes.size(); ++i) {
    const int64_t size = own.classes[i].size;
    PrefixClass c{own.classes[i].begin, 0, 0, 0, 0};
    const int64_t smallest = size == 0 ? 1 : bounds.min_partner(size);
    if (size > 0 && part == IndexedPart::all) {
      c.end_partner = others.sets;
    } else if (size > 0 && smallest <= largest) {
      c.first_partner = others.lower_bound(static_cast<uint64_t>(smallest));
      c.end_partner = others.lower_bound(static_cast<uint64_t>(bounds.max_partner(size, largest)) + 1);
    }
    if (part != IndexedPart::prefixes) {
      c.probe_prefix = c.end_partner > c.first_partner ? static_cast<uint32_t>(size) : 0;
      c.index_prefix = static_cast<uint32_t>(size);
    } else if (c.end_partner > 0) {
      c.probe_prefix = static_cast<uint32_t>(bounds.prefix_length(size, smallest));
      // In a self-join, the indexed set is the smaller one of a pair.
      c.index_prefix = self_join ? static_cast<uint32_t>(bounds.prefix_length(size, size)) : c.probe_prefix;
    }
    classes.push_back(c);
  }
  return classes;
}

void leave_out(std::vector<PrefixClass> &classes, uint32_t end) {
  for (PrefixClass &c : classes) {
    if (c.begin >= end) c.probe_prefix = c.index_prefix = 0;
  }
}

void scan_counts(Device &device, const uint32_t *counts, uint64_t *sums, uint64_t size) {
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceScan::ExclusiveScan(scratch, bytes, counts, sums, cuda::std::plus<uint64_t>{},
                                          uint64_t{0}, cub_count(size), device.stream());
  });
}

DeviceBuffer<uint64_t> prefix_offsets(Device &device, const DeviceSide &side,
                                      const DeviceBuffer<PrefixClass> &classes, bool index, uint64_t &sum) {
  const uint64_t sets = side.sets;
  DeviceBuffer<uint32_t> counts(device, sets + 1);
  counts.fill(0);
  launch(device, count_prefixes, blocks_for(device, sets), side.records.data(), side.sets, classes.data(),
         static_cast<uint32_t>(classes.size()), index, counts.data());
  DeviceBuffer<uint64_t> offsets(device, sets + 1);
  scan_counts(device, counts.data(), offsets.data(), sets + 1);
  sum = read_value(device, offsets.data() + sets);
  if (sum >= UINT32_MAX) throw Error(ErrorKind::limit_exceeded, "the index has too many tokens for the GPU");
  return offsets;
}

InvertedIndex::InvertedIndex(Device &device, const DeviceCollection &collection, const Bounds &bounds,
                             bool self_join, IndexedPart part, uint32_t end_partner, const StopFlag &stop) {
  const DeviceSide &probes = collection.sides[0], &partners = collection.sides[self_join ? 0 : 1];
  std::vector<PrefixClass> plan = plan_classes(bounds.reversed(), partners, probes, self_join, part);
  leave_out(plan, end_partner);
  const DeviceBuffer<PrefixClass> classes = upload_table(device, plan);
  uint64_t count = 0;
  const DeviceBuffer<uint64_t> offsets = prefix_offsets(device, partners, classes, true, count);
  stop.check();
  DeviceBuffer<uint32_t> tokens(device, count), sorted_tokens(device, count), numbers(device, count);
  postings_ = DeviceBuffer<uint32_t>(device, count);
  launch(device, list_prefixes, blocks_for(device, partners.sets, prefix_lanes), partners.records.data(),
         partners.sets, collection.ranks.data(), offsets.data(), tokens.data(), numbers.data());
  if (count > 0) {
    with_scratch(device, [&](void *scratch, size_t &bytes) {
      return cub::DeviceRadixSort::SortPairs(
          scratch, bytes, tokens.data(), sorted_tokens.data(), numbers.data(), postings_.data(),
          cub_count(count), 0, std::max(1, static_cast<int>(std::bit_width(collection.rank_count))),
          device.stream());
    });
  }
  starts_ = DeviceBuffer<uint32_t>(device, size_t{collection.rank_count} + 1);
  launch(device, find_lists, blocks_for(device, uint64_t{collection.rank_count} + 1), sorted_tokens.data(),
         count, collection.rank_count, starts_.data());
}

}  // namespace simjoin::gpu
