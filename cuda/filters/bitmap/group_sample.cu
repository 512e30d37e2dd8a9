#include "cuda/filters/bitmap/group_sample.hpp"

#include "cuda/filters/bitmap/bitmap_job.cuh"

namespace simjoin::gpu {
namespace {

// Counts the comparisons that reach their bound. Each run of sampled_probes probes has its own run of groups.
__global__ void count_passing(LeastOverlap least_overlap, SignatureView probes, SignatureView groups,
                              uint32_t run_groups, uint64_t comparisons, unsigned long long *passing) {
  uint32_t found = 0;
  SIMJOIN_GRID_STRIDE(i, comparisons) {
    const auto r = static_cast<uint32_t>(i / run_groups);
    const auto s = static_cast<uint32_t>(r / sampled_probes * run_groups + i % run_groups);
    const auto shared = static_cast<int>(shared_bits(probes, r, groups, s));
    found += shared >= bound_blocks(least_overlap, probes, r / signature_block, groups, s / signature_block);
  }
  if (found > 0) atomicAdd(passing, static_cast<unsigned long long>(found));
}

// Returns signatures of `each` sets from each of the sampled places on.
DeviceSignatureTable sign_sample(Device &device, const DeviceCollection &collection, const DeviceSide &side,
                                 const std::vector<SampledSets> &sampled, uint32_t SampledSets::*first,
                                 uint32_t each) {
  DeviceSide copy;
  copy.sets = static_cast<uint32_t>(sampled.size()) * each;
  copy.classes = {{0, 0}, {UINT32_MAX, copy.sets}};
  copy.records = DeviceBuffer<SetRecord>(device, copy.sets);
  for (size_t i = 0; i < sampled.size(); ++i) {
    copy_on_device(device, copy.records.data() + i * each, side.records.data() + sampled[i].*first, each);
  }
  return {device, collection, copy, 0, copy.sets, collection.layout(group_steps, group_excess_bits)};
}

}  // namespace

GroupSample::GroupSample(Device &device, const Bounds &bounds, const DeviceCollection &collection,
                         const DeviceSide &probes, const DeviceSide &partners,
                         const std::vector<SampledSets> &sampled)
    : device_(device),
      least_overlap_(bounds),
      probes_(sign_sample(device, collection, probes, sampled, &SampledSets::probe, sampled_probes)),
      partners_(sign_sample(device, collection, partners, sampled, &SampledSets::partner, sampled_partners)) {
}

double GroupSample::passing_share(uint32_t group) const {
  const DeviceGroupTable groups(device_, partners_.view(), group);
  const SignatureView probes = probes_.view();
  const uint32_t run_groups = sampled_partners / group;
  const uint64_t comparisons = uint64_t{probes.sets} * run_groups;
  DeviceBuffer<unsigned long long> passing(device_, 1);
  passing.fill(0);
  launch(device_, count_passing, blocks_for(device_, comparisons), least_overlap_, probes, groups.view(),
         run_groups, comparisons, passing.data());
  return static_cast<double>(read_value(device_, passing.data())) / static_cast<double>(comparisons);
}

}  // namespace simjoin::gpu
