// Vectors for benchmarks of FlyHash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/random.hpp"

namespace simjoin::bench {

// Returns vectors one after the other, from normal clusters of about 100. They are the same on every machine.
inline std::vector<float> clustered_vectors(size_t count, uint32_t dimension) {
  Random random(1);
  std::vector<float> vectors(count * dimension), centre(dimension);
  for (size_t i = 0; i < count; ++i) {
    if (i % 100 == 0) {
      for (float &value : centre) value = static_cast<float>(random.normal());
    }
    // Uniform noise is good enough around the centres, and much faster to draw.
    for (uint32_t d = 0; d < dimension; ++d) {
      vectors[i * dimension + d] = centre[d] + static_cast<float>(random.fraction() - 0.5);
    }
  }
  return vectors;
}

}  // namespace simjoin::bench
