// A backend that joins on the CPU. With it, tests of the service need no GPU.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/device/gpu.hpp"
#include "core/weighted/weighted_device.hpp"

namespace simjoin {

// Compares all pairs.
class CpuWeighted : public WeightedDevice {
 public:
  void find(const WeightedProblem &problem, const std::function<void(const WeightedFinds &)> &take) override {
    WeightedFinds finds;
    finds.device = name;
    finds.memory_peak = 1;
    for (uint32_t first = 0; first < problem.probes.sets(); first = finds.end) {
      finds.end = std::min(first + probes_at_once, problem.probes.sets());
      finds.candidates = 0;
      std::vector<WeightedPair> pairs;
      for (uint32_t probe = first; probe < finds.end; ++probe) {
        problem.pool.stop().check();
        compare(problem, probe, problem.self_join ? probe : problem.index.sets(), pairs, finds.candidates);
      }
      finds.pairs = pairs;
      take(finds);
    }
  }

  std::string name = "cpu";
  uint32_t probes_at_once = 7;

 private:
  // Appends the pairs of the probe and the index sets before `end` that have enough in common.
  static void compare(const WeightedProblem &problem, uint32_t probe, uint32_t end,
                      std::vector<WeightedPair> &pairs, uint64_t &compared) {
    const WeightedSet l = problem.probes[probe];
    const bool wide = problem.index.format.wide;
    const auto weight = [&](const WeightedSet &set, uint32_t i) {
      return wide ? set.doubles[i] : static_cast<double>(set.floats[i]);
    };
    for (uint32_t partner = 0; partner < end; ++partner) {
      const WeightedSet r = problem.index[partner];
      double seen = 0;
      for (uint32_t i = 0, j = 0; i < l.count && j < r.count;) {
        if (l.ranks[i] == r.ranks[j]) seen += problem.bounds.shared(weight(l, i), weight(r, j));
        const uint32_t rank = l.ranks[i];
        i += rank <= r.ranks[j];
        j += r.ranks[j] <= rank;
      }
      ++compared;
      if (seen >= problem.bounds.least_in_common(l.total, r.total)) pairs.push_back({probe, partner});
    }
  }
};

class CpuBackend : public GpuBackend {
 public:
  bool available(std::string &reason) override {
    if (!present) reason = "there is no GPU";
    return present;
  }
  bool started() const override { return false; }
  std::unique_ptr<JoinEngine> make_engine(const JoinSpec &spec) override {
    JoinSpec of_cpu = spec;
    of_cpu.device = Device::cpu;
    of_cpu.threads = 1;
    return make_cpu_engine(of_cpu);
  }
  WeightedDevice *weighted() override { return &weighted_; }

  bool present = true;

 private:
  CpuWeighted weighted_;
};

}  // namespace simjoin
