// A cheap bound for filters. Verification has the exact one.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/measure.hpp"

namespace simjoin::gpu {

// Returns a number of tokens that two sets of sizes `r` and `s` must share to qualify. It is slightly less
// than Bounds::min_overlap() at most, and never more.
class LeastOverlap {
 public:
  explicit LeastOverlap(const Bounds &bounds) : measure_(bounds.measure()), factor_(factor_of(bounds)) {}

  SIMJOIN_HOST_DEVICE uint32_t operator()(uint32_t r, uint32_t s) const {
    constexpr float slack = 0.99999f;
    constexpr float most = 4e9f;
    return static_cast<uint32_t>(fminf(ceilf(factor_ * tokens(r, s) * slack), most));
  }

 private:
  // Returns the number of tokens whose part `factor_` the sets must share.
  SIMJOIN_HOST_DEVICE float tokens(uint32_t r, uint32_t s) const {
    switch (measure_) {
      case Measure::jaccard:
      case Measure::dice:
        return static_cast<float>(r) + static_cast<float>(s);
      case Measure::cosine:
        return sqrtf(static_cast<float>(r)) * sqrtf(static_cast<float>(s));
      case Measure::overlap_coefficient:
        return static_cast<float>(r < s ? r : s);
      case Measure::containment:
        return static_cast<float>(r);
      case Measure::reverse_containment:
        return static_cast<float>(s);
      case Measure::overlap:
        break;
    }
    return 1.0f;
  }
  static float factor_of(const Bounds &bounds) {
    const double t = bounds.threshold();
    switch (bounds.measure()) {
      case Measure::jaccard:
        return static_cast<float>(t / (1 + t));
      case Measure::dice:
        return static_cast<float>(t / 2);
      default:
        return static_cast<float>(t);
    }
  }

  Measure measure_;
  float factor_;
};

}  // namespace simjoin::gpu
