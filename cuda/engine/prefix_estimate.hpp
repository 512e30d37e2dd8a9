// The work of a prefix index, estimated from a sample without building the index.
#pragma once

#include <vector>

#include "core/measure.hpp"
#include "cuda/base/device.hpp"
#include "cuda/sets/collection.hpp"

namespace simjoin::gpu {

struct PrefixEstimate {
  // By class of the probes.
  std::vector<double> tokens;   // tokens that an index lists and looks up for them, above those before them
  std::vector<double> entries;  // list entries that they visit
};

PrefixEstimate estimate_prefixes(Device &device, const Bounds &bounds, const DeviceCollection &collection,
                                 bool self_join);

}  // namespace simjoin::gpu
