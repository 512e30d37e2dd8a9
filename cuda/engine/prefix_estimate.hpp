// The work of a prefix index, estimated from a sample without building the index.
#pragma once

#include <vector>

#include "core/measure.hpp"
#include "cuda/base/device.hpp"
#include "cuda/sets/collection.hpp"

namespace simjoin::gpu {

struct PrefixEstimate {
  double tokens = 0;            // tokens that the index lists and looks up
  std::vector<double> entries;  // list entries that the probes visit, by class of the probes
};

PrefixEstimate estimate_prefixes(Device &device, const Bounds &bounds, const DeviceCollection &collection,
                                 bool self_join);

}  // namespace simjoin::gpu
