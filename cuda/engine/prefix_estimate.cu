#include "cuda/engine/prefix_estimate.hpp"

#include <algorithm>

#include "cuda/base/launch.cuh"
#include "cuda/filters/inverted_index.cuh"

namespace simjoin::gpu {
namespace {

// Sets sampled from each side. They take a fraction of a millisecond, with a few per cent of noise in the
// sums.
constexpr uint32_t sampled_sets = 1u << 15;

// Every stride-th set of a side.
struct Sample {
  const SetRecord *records;
  const uint32_t *ranks;
  const PrefixClass *classes;
  uint32_t class_count;
  uint32_t sets;
  uint32_t stride;
};

// Counts the lengths of the sampled sets' lists. One warp per set.
__global__ void count_lists(const Sample sample, uint32_t *lengths) {
  const uint64_t warps = uint64_t{gridDim.x} * block_warps;
  for (uint64_t set = (uint64_t{blockIdx.x} * block_warps + threadIdx.x / warp_threads) * sample.stride;
       set < sample.sets; set += warps * sample.stride) {
    const SetRecord &record = sample.records[set];
    const uint32_t prefix = stored_prefix(
        record, class_of(sample.classes, sample.class_count, static_cast<uint32_t>(set)).index_prefix);
    for (uint32_t i = threadIdx.x % warp_threads; i < prefix; i += warp_threads) {
      atomicAdd(&lengths[sample.ranks[record.start + i]], 1u);
    }
  }
}

// Sums up by class the lengths of the lists that the sampled sets look up. One warp per set.
__global__ void sum_lookups(const Sample sample, const uint32_t *lengths, unsigned long long *sums) {
  const uint64_t warps = uint64_t{gridDim.x} * block_warps;
  for (uint64_t set = (uint64_t{blockIdx.x} * block_warps + threadIdx.x / warp_threads) * sample.stride;
       set < sample.sets; set += warps * sample.stride) {
    const SetRecord &record = sample.records[set];
    const PrefixClass &c = class_of(sample.classes, sample.class_count, static_cast<uint32_t>(set));
    const uint32_t prefix = stored_prefix(record, c.probe_prefix);
    unsigned long long sum = 0;
    for (uint32_t i = threadIdx.x % warp_threads; i < prefix; i += warp_threads) {
      sum += lengths[sample.ranks[record.start + i]];
    }
    for (int distance = warp_threads / 2; distance > 0; distance /= 2) {
      sum += __shfl_xor_sync(~0u, sum, distance);
    }
    if (threadIdx.x % warp_threads == 0 && sum > 0) atomicAdd(&sums[&c - sample.classes], sum);
  }
}

}  // namespace

PrefixEstimate estimate_prefixes(Device &device, const Bounds &bounds, const DeviceCollection &collection,
                                 bool self_join) {
  const DeviceSide &probes = collection.sides[0], &partners = collection.sides[self_join ? 0 : 1];
  const DeviceSide *sides[2] = {&probes, &partners};
  std::vector<PrefixClass> classes[2];
  DeviceBuffer<PrefixClass> tables[2];
  Sample samples[2];
  for (int s = 0; s < 2; ++s) {
    classes[s] = plan_classes(s == 0 ? bounds : bounds.reversed(), *sides[s], *sides[1 - s], self_join,
                              IndexedPart::prefixes);
    tables[s] = upload_table(device, classes[s]);
    samples[s] = {sides[s]->records.data(), collection.ranks.data(),
                  tables[s].data(),         static_cast<uint32_t>(classes[s].size()),
                  sides[s]->sets,           std::max(1u, sides[s]->sets / sampled_sets)};
  }
  DeviceBuffer<uint32_t> lengths(device, std::max(1u, collection.rank_count));
  DeviceBuffer<unsigned long long> sums(device, classes[0].size());
  lengths.fill(0);
  sums.fill(0);
  const unsigned blocks = blocks_for(device, sampled_sets, warp_threads);
  launch(device, count_lists, blocks, samples[1], lengths.data());
  launch(device, sum_lookups, blocks, samples[0], lengths.data(), sums.data());
  std::vector<unsigned long long> found(classes[0].size());
  copy_to_host(device, found.data(), sums.data(), found.size());
  device.synchronize();

  PrefixEstimate estimate;
  size_t listed = 0;  // classes of the partners
  for (size_t i = 0; i < classes[0].size(); ++i) {
    const PrefixClass &c = classes[0][i];
    const uint32_t end = probes.classes[i + 1].begin, end_partner = self_join ? end : c.end_partner;
    double tokens = static_cast<double>(end - c.begin) * c.probe_prefix;
    for (; listed < classes[1].size() && classes[1][listed].begin < end_partner; ++listed) {
      const double sets = partners.classes[listed + 1].begin - classes[1][listed].begin;
      tokens += sets * classes[1][listed].index_prefix;
    }
    estimate.tokens.push_back(tokens);
  }
  const double scale = static_cast<double>(samples[0].stride) * samples[1].stride;
  for (size_t i = 0; i < classes[0].size(); ++i) {
    const PrefixClass &c = classes[0][i];
    const double end = self_join ? (c.begin + probes.classes[i + 1].begin) / 2.0 : c.end_partner;
    const double share = std::max(0.0, end - c.first_partner) / std::max(1u, partners.sets);
    estimate.entries.push_back(static_cast<double>(found[i]) * scale * share);
  }
  return estimate;
}

}  // namespace simjoin::gpu
