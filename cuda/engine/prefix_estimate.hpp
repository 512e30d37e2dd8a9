// What a prefix index would have to do, estimated from a sample without building one.
#pragma once

#include <vector>

#include "core/measure.hpp"
#include "cuda/base/device.hpp"
#include "cuda/sets/collection.hpp"

namespace simjoin::gpu {

struct PrefixEstimate {
  double tokens = 0;            // that the index lists and looks up
  std::vector<double> entries;  // list entries that the probes of each size visit, parallel to their classes
};

PrefixEstimate estimate_prefixes(Device &device, const Bounds &bounds, const DeviceCollection &collection,
                                 bool self_join);

}  // namespace simjoin::gpu
