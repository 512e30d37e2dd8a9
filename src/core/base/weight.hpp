// Which numbers are weights, of tokens and of edges.
#pragma once

#include <cmath>

namespace simjoin {

inline bool is_weight(double number) {
  return std::isfinite(number) && number >= 0;
}

}  // namespace simjoin
