#include "core/choice/pair_sample.hpp"

#include <algorithm>

namespace simjoin {
namespace {

uint64_t pairs_of_class(const JoinProblem &problem, uint32_t probe_class) {
  const SizeClass &c = problem.probe.classes[probe_class];
  const uint64_t sets = c.end - c.begin;
  const ProbeClass &bounds = problem.probe_classes[probe_class];
  if (bounds.class_begin == bounds.class_end) return 0;
  const uint64_t first = problem.first_partner(probe_class);
  if (problem.self_join()) return sets * (c.begin - first) + sets * (sets - 1) / 2;
  return sets * (problem.end_partner(probe_class, c.begin) - first);
}

}  // namespace

std::vector<SizeBand> size_bands(const JoinProblem &problem) {
  std::vector<SizeBand> bands;
  uint64_t smallest = 0;
  for (uint32_t k = 0; k < problem.probe.classes.size(); ++k) {
    const SizeClass &c = problem.probe.classes[k];
    if (bands.empty() || 2 * uint64_t{c.size} >= 3 * smallest) {
      bands.push_back({k, k, 0, 0});
      smallest = c.size;
    }
    SizeBand &band = bands.back();
    band.end = k + 1;
    band.sets += c.end - c.begin;
    band.pairs += pairs_of_class(problem, k);
  }
  return bands;
}

std::vector<SampledPair> sample_pairs(const JoinProblem &problem, const SizeBand &band, uint32_t count,
                                      uint64_t tokens) {
  std::vector<uint64_t> ends;  // the end of each class's pairs
  uint64_t total = 0;
  for (uint32_t k = band.begin; k < band.end; ++k) ends.push_back(total += pairs_of_class(problem, k));
  std::vector<SampledPair> pairs;
  Random random(band.begin);
  uint64_t read = 0;
  for (uint32_t i = 0; i < count && total > 0 && read < tokens; ++i) {
    const auto at = std::upper_bound(ends.begin(), ends.end(), random.below(total)) - ends.begin();
    const uint32_t k = band.begin + static_cast<uint32_t>(at);
    const SizeClass &c = problem.probe.classes[k];
    const auto probe = static_cast<uint32_t>(c.begin + random.below(c.end - c.begin));
    const uint32_t first = problem.first_partner(k), end = problem.end_partner(k, probe);
    if (first >= end) continue;
    const auto partner = static_cast<uint32_t>(first + random.below(end - first));
    const uint32_t index_class = problem.index.class_of(partner);
    const uint32_t size = problem.index.classes[index_class].size;
    const int64_t required = problem.bounds.min_overlap(c.size, size);
    pairs.push_back({probe, partner, k, index_class, static_cast<uint32_t>(required)});
    read += c.size + size;
  }
  return pairs;
}

}  // namespace simjoin
