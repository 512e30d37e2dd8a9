// Runs a test on each instruction set of this machine.
#pragma once

#include <hwy/detect_targets.h>
#include <hwy/targets.h>

#include <cstdint>
#include <vector>

namespace simjoin::test {

// Runs the rest of a scope on one instruction set.
class OnTarget {
 public:
  explicit OnTarget(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  ~OnTarget() {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

inline std::vector<int64_t> all_targets() {
  return hwy::SupportedAndGeneratedTargets();
}

}  // namespace simjoin::test
