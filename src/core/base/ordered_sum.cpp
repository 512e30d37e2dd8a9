#include "core/base/ordered_sum.hpp"

namespace simjoin {

double sum_of_segments(double *sums, size_t count) {
  if (count == 0) return 0;
  while (count > 1) {
    const size_t segments = segments_of(count);
    for (size_t s = 0; s < segments; ++s) {
      const double *segment = sums + s * sum_segment;
      sums[s] =
          segment_sum(std::min(sum_segment, count - s * sum_segment), [&](size_t i) { return segment[i]; });
    }
    count = segments;
  }
  return sums[0];
}

}  // namespace simjoin
