// A sample of the comparisons of probes with groups of partners.
#pragma once

#include <cstdint>
#include <vector>

#include "core/measure.hpp"
#include "cuda/base/device.hpp"
#include "cuda/filters/group_signatures.hpp"
#include "cuda/filters/least_overlap.hpp"
#include "cuda/filters/signatures.hpp"
#include "cuda/sets/collection.hpp"

namespace simjoin::gpu {

inline constexpr uint32_t sampled_probes = 512;
inline constexpr uint32_t sampled_partners = 6144;  // whole blocks of groups of every size

// Adjacent probes from `probe` on and adjacent partners from `partner` on.
struct SampledSets {
  uint32_t probe;
  uint32_t partner;
};

class GroupSample {
 public:
  // All sampled sets must exist and have few enough tokens for a warp.
  GroupSample(Device &device, const Bounds &bounds, const DeviceCollection &collection,
              const DeviceSide &probes, const DeviceSide &partners, const std::vector<SampledSets> &sampled);

  // Returns the share of comparisons of a probe with a group of `group` partners that do not rule it out.
  double passing_share(uint32_t group) const;

 private:
  Device &device_;
  const LeastOverlap least_overlap_;
  DeviceSignatureTable probes_, partners_;
};

}  // namespace simjoin::gpu
