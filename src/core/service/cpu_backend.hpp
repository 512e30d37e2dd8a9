// A backend whose engine and functions are the CPU's. With it, tests of the service need no GPU.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device/gpu.hpp"
#include "core/service/cpu_devices.hpp"

namespace simjoin {

class CpuBackend : public GpuBackend {
 public:
  bool available(std::string &reason) override {
    if (!present) reason = "there is no GPU";
    return present;
  }
  bool started() const override { return false; }
  std::vector<GpuDevice> devices() override { return {{"CPU for tests", 1, 0, memory, memory / 2}}; }
  size_t memory_total() override { return memory; }
  std::unique_ptr<JoinEngine> make_engine(const JoinSpec &spec) override {
    JoinSpec of_cpu = spec;
    of_cpu.device = Device::cpu;
    of_cpu.threads = 1;
    return make_cpu_engine(of_cpu);
  }
  FlyHashDevice *flyhash() override { return &flyhash_; }
  SignatureDevice *signatures() override { return &signatures_; }
  GraphDevice *graphs() override { return &graphs_; }
  WeightedDevice *weighted() override { return &weighted_; }
  std::unique_ptr<ClusterDevice> make_cluster_device(size_t) override {
    return std::make_unique<CpuClusters>();
  }
  void fail_call(uint64_t, bool) override {}

  bool present = true;
  size_t memory = size_t{2} << 30;

 private:
  CpuFlyHash flyhash_;
  CpuSignatures signatures_;
  CpuGraphs graphs_;
  CpuWeighted weighted_;
};

}  // namespace simjoin
