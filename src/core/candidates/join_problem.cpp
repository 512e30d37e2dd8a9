#include "core/candidates/join_problem.hpp"

#include <algorithm>

#include "core/base/check.hpp"

namespace simjoin {
namespace {

// Returns whether the classes are in the order of their sizes and of their sets.
[[maybe_unused]] bool sizes_ascend(const std::vector<SizeClass> &classes) {
  return std::adjacent_find(classes.begin(), classes.end(), [](const SizeClass &a, const SizeClass &b) {
           return a.size >= b.size || a.end > b.begin;
         }) == classes.end();
}

// Returns the index of the first class of at least `size` tokens.
uint32_t first_class_of_size(const std::vector<SizeClass> &classes, int64_t size) {
  const auto at = std::lower_bound(classes.begin(), classes.end(), size,
                                   [](const SizeClass &c, int64_t value) { return c.size < value; });
  return static_cast<uint32_t>(at - classes.begin());
}

}  // namespace

JoinProblem::JoinProblem(const Bounds &with, const SetCollection &probe_side, const SetCollection &index_side,
                         bool larger_probes)
    : bounds(with), probe(probe_side), index(index_side) {
  SIMJOIN_CHECK(bounds.threshold() > 0);
  SIMJOIN_CHECK(sizes_ascend(probe.classes) && sizes_ascend(index.classes));
  const int64_t largest = index.classes.empty() ? 0 : index.classes.back().size;
  for (const SizeClass &c : probe.classes) {
    const int64_t smallest_partner = bounds.min_partner(c.size);
    const int64_t largest_partner = bounds.max_partner(c.size, self_join() ? c.size : largest);
    const uint32_t begin = first_class_of_size(index.classes, smallest_partner);
    const uint32_t end = first_class_of_size(index.classes, largest_partner + 1);
    const bool any = begin < end && smallest_partner <= largest_partner;
    const auto prefix =
        any ? static_cast<uint32_t>(bounds.prefix_length(c.size, index.classes[begin].size)) : 0;
    probe_classes.push_back({begin, any ? end : begin, prefix});
  }
  const Bounds of_index = bounds.reversed();
  for (const SizeClass &c : index.classes) {
    const int64_t smallest_partner = self_join() || larger_probes ? c.size : of_index.min_partner(c.size);
    index_prefix.push_back(static_cast<uint32_t>(of_index.prefix_length(c.size, smallest_partner)));
  }
}

uint32_t JoinProblem::first_partner(uint32_t probe_class) const {
  const ProbeClass &c = probe_classes[probe_class];
  return c.class_begin < c.class_end ? index.classes[c.class_begin].begin : 0;
}

uint32_t JoinProblem::end_partner(uint32_t probe_class, uint32_t probe_set) const {
  const ProbeClass &c = probe_classes[probe_class];
  if (c.class_begin >= c.class_end) return 0;
  const uint32_t end = index.classes[c.class_end - 1].end;
  return self_join() ? std::min(end, probe_set) : end;
}

uint64_t JoinProblem::compatible_pairs() const {
  uint64_t pairs = 0;
  for (uint32_t k = 0; k < probe_classes.size(); ++k) {
    const ProbeClass &c = probe_classes[k];
    if (c.class_begin >= c.class_end) continue;
    const uint64_t sets = probe.classes[k].end - probe.classes[k].begin;
    const uint64_t first = index.classes[c.class_begin].begin;
    if (self_join()) {
      pairs += sets * (probe.classes[k].begin - first) + sets * (sets - 1) / 2;
    } else {
      pairs += sets * (index.classes[c.class_end - 1].end - first);
    }
  }
  return pairs;
}

uint32_t JoinProblem::most_differences(uint32_t probe_class) const {
  // Up to this number of partner sizes, each is looked at.
  constexpr uint32_t exact_limit = 64;
  // Without the rounding of `required`, the difference r + s - 2 * required is convex in s: it grows or, of
  // sets smaller than r, shrinks, and so is the largest at an end. The rounding moves it by less than 4: one
  // for the ceiling, one for the floating point, twice each.
  constexpr int64_t rounding = 4;
  const ProbeClass &c = probe_classes[probe_class];
  const int64_t r = probe.classes[probe_class].size;
  const auto differences = [&](uint32_t index_class) {
    const int64_t s = index.classes[index_class].size;
    return r + s - 2 * bounds.min_overlap(r, s);
  };
  int64_t most = 0;
  if (c.class_end - c.class_begin > exact_limit) {
    most = std::max(differences(c.class_begin), differences(c.class_end - 1)) + rounding;
  } else {
    for (uint32_t k = c.class_begin; k < c.class_end; ++k) most = std::max(most, differences(k));
  }
  return static_cast<uint32_t>(std::clamp<int64_t>(most, 0, UINT32_MAX));
}

}  // namespace simjoin
