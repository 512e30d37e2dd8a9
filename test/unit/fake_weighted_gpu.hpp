// A GPU that searches weighted sets on the CPU and fails on demand.
#pragma once

#include <optional>

#include "gpu_service/server/cpu_backend.hpp"
#include "unit/fake_gpu.hpp"

namespace simjoin::test {

class FakeWeightedDevice final : public CpuWeighted {
 public:
  FakeWeightedDevice() { name = "fake"; }

  void find(const WeightedProblem &problem, const std::function<void(const WeightedFinds &)> &take) override {
    ++calls;
    if (fault && fault_at == 0) fail_as(*fault);
    CpuWeighted::find(problem, [&](const WeightedFinds &finds) {
      take(finds);
      last = finds.end;
      if (fault && last >= fault_at && last < problem.probes.sets()) fail_as(*fault);
    });
  }

  std::optional<ErrorKind> fault;  // of the probes from `fault_at` on
  uint32_t fault_at = 0;
  uint32_t calls = 0;
  uint32_t last = 0;  // the end of the probes that it has searched
};

class FakeWeightedGpu : public FakeGpu {
 public:
  WeightedDevice *weighted() override { return &device; }

  FakeWeightedDevice device;
};

}  // namespace simjoin::test
