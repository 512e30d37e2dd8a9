// The search of weighted joins on a GPU (core/weighted/weighted_device.hpp).
#pragma once

#include "core/weighted/weighted_device.hpp"

namespace simjoin::gpu {

class CudaWeightedDevice final : public WeightedDevice {
 public:
  void find(const WeightedProblem &problem, const std::function<void(const WeightedFinds &)> &take) override;
};

}  // namespace simjoin::gpu
