// A GPU that searches weighted sets on the CPU: it compares all pairs, in doubles, and fails on demand.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "core/weighted/weighted_device.hpp"
#include "unit/fake_gpu.hpp"

namespace simjoin::test {

class FakeWeightedDevice final : public WeightedDevice {
 public:
  void find(const WeightedProblem &problem, const std::function<void(const WeightedFinds &)> &take) override {
    ++calls;
    WeightedFinds finds;
    finds.device = "fake";
    finds.memory_peak = 1;
    for (uint32_t first = 0; first < problem.probes.sets(); first = finds.end) {
      if (fault && first >= fault_at) fail_as(*fault);
      finds.end = std::min(first + probes_at_once, problem.probes.sets());
      finds.candidates = 0;
      std::vector<WeightedPair> pairs;
      for (uint32_t probe = first; probe < finds.end; ++probe)
        compare(problem, probe, problem.self_join ? probe : problem.index.sets(), pairs, finds.candidates);
      finds.pairs = pairs;
      take(finds);
      last = finds.end;
    }
  }

  uint32_t probes_at_once = 7;
  std::optional<ErrorKind> fault;  // of the probes from `fault_at` on
  uint32_t fault_at = 0;
  uint32_t calls = 0;
  uint32_t last = 0;  // the end of the probes that it has searched

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

class FakeWeightedGpu : public FakeGpu {
 public:
  WeightedDevice *weighted() override { return &device; }

  FakeWeightedDevice device;
};

}  // namespace simjoin::test
