// The partner of a row, by its rank.
#pragma once

#include <cstdint>

namespace simjoin {

struct Partner {
  static constexpr uint32_t none = UINT32_MAX;

  double similarity;
  uint32_t right;
};

}  // namespace simjoin
