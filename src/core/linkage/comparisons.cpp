#include "core/linkage/comparisons.hpp"

#include <algorithm>
#include <tuple>

#include "core/base/mix.hpp"
#include "core/base/parallel_ranges.hpp"

namespace simjoin {

uint64_t ComparisonVector::hash() const {
  return mix_bits(levels[0] ^ mix_bits(levels[1]));
}

void ComparisonCounts::add(const ComparisonVector &vector) {
  ComparisonVector *place = vectors_.find(vector.hash(), [&](const ComparisonVector &other) {
    return other.levels[0] == vector.levels[0] && other.levels[1] == vector.levels[1];
  });
  if (place->free()) {
    ComparisonVector first = vector;
    first.pairs = 1;
    vectors_.add(place, first);
  } else {
    ++place->pairs;
  }
}

Buffer<ComparisonVector> ComparisonCounts::sorted(const StopFlag &stop) {
  Buffer<ComparisonVector> vectors(memory_);
  vectors.reserve(vectors_.size());
  vectors_.for_each([&](const ComparisonVector &vector) { vectors.push_back(vector); });
  vectors_.release();
  std::sort(vectors.begin(), vectors.end(),
            stoppable(stop, [](const ComparisonVector &a, const ComparisonVector &b) {
              return std::tie(a.levels[1], a.levels[0]) < std::tie(b.levels[1], b.levels[0]);
            }));
  return vectors;
}

}  // namespace simjoin
