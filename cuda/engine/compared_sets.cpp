#include "cuda/engine/compared_sets.hpp"

#include <algorithm>

namespace simjoin::gpu {

// The base is the size up to which signatures of one step separate sets of this average size. Wider
// signatures take sizes in proportion. It depends on the Jaccard similarity that two sets of equal size need.
// The sizes were measured on DBLP-shaped sets for similarities from 0.5 on. Below, they keep the bits shared
// by chance and lost by collisions within about 0.6 of the needed ones: 1.5 * size^2 / bits of size * 2t / (1
// + t).
SignatureWidths widths_for(const Bounds &bounds, double average_size) {
  const int64_t size =
      bounds.measure() == Measure::overlap ? std::max<int64_t>(1, static_cast<int64_t>(average_size)) : 1000;
  const double needed = static_cast<double>(std::min(size, bounds.min_overlap(size, size)));
  const double t = needed / (2.0 * static_cast<double>(size) - needed);
  SignatureWidths widths;
  widths.base = t >= 0.85   ? 300
                : t >= 0.65 ? 140
                            : std::clamp(static_cast<uint32_t>(210 * t / (1 + t)), 8u, 70u);
  return widths;
}

uint64_t compatible_pairs(const ComparedSets &sets) {
  const DeviceSide &left = sets.probes, &right = sets.partners;
  if (left.sets == 0 || right.sets == 0) return 0;
  const int64_t largest = right.classes.end()[-2].size;
  uint64_t pairs = 0;
  for (size_t i = 0; i + 1 < left.classes.size(); ++i) {
    const uint32_t size = left.classes[i].size;
    if (size == 0) continue;
    const uint64_t count = left.classes[i + 1].begin - left.classes[i].begin;
    const uint64_t end = right.lower_bound(static_cast<uint64_t>(sets.bounds.max_partner(size, largest)) + 1);
    const uint64_t begin =
        right.lower_bound(static_cast<uint64_t>(sets.self_join ? size + 1 : sets.bounds.min_partner(size)));
    if (end > begin) pairs += count * (end - begin);
    if (sets.self_join && sets.bounds.satisfied(size, size, size)) pairs += count * (count - 1) / 2;
  }
  return pairs;
}

PlanRange range_of(const ComparedSets &sets, uint32_t begin, uint32_t end, uint32_t border) {
  const auto size_of = [&](uint32_t set) {
    return std::upper_bound(sets.probes.classes.begin(), sets.probes.classes.end(), set,
                            [](uint32_t number, const DeviceSizeClass &c) { return number < c.begin; })[-1]
        .size;
  };
  const int64_t largest = sets.partners.classes.end()[-2].size;
  const int64_t smallest_partner = sets.bounds.min_partner(size_of(begin));
  const int64_t largest_partner = sets.bounds.max_partner(size_of(end - 1), largest);
  const uint32_t first = sets.self_join ? begin : sets.partners.lower_bound(smallest_partner);
  const uint32_t last = sets.partners.lower_bound(static_cast<uint64_t>(largest_partner) + 1);
  return {begin, end, first, std::max(first, last), sets.self_join ? border : 0};
}

std::vector<RangePart> cut_range(const ComparedSets &sets, const PlanRange &range, double least_pairs,
                                 double growth) {
  const std::vector<DeviceSizeClass> &classes = sets.probes.classes;
  const int64_t largest = sets.partners.classes.end()[-2].size;
  std::vector<RangePart> parts;
  RangePart part{range.begin, range.begin};
  uint32_t smallest = 0;
  for (size_t i = 0; part.end < range.end; ++i) {
    if (classes[i + 1].begin <= part.end) continue;
    const uint32_t size = classes[i].size;
    if (part.pairs >= least_pairs && size > smallest * growth) {
      parts.push_back(part);
      part = {part.end, part.end};
    }
    if (part.begin == part.end) smallest = size;
    const uint32_t count = std::min(classes[i + 1].begin, range.end) - part.end;
    part.end += count;
    const uint32_t first = std::max(
        sets.self_join ? part.end - count / 2 : sets.partners.lower_bound(sets.bounds.min_partner(size)),
        range.partner_from);
    const uint32_t end =
        sets.partners.lower_bound(static_cast<uint64_t>(sets.bounds.max_partner(size, largest)) + 1);
    if (first < end) part.pairs += static_cast<double>(count) * (end - first);
  }
  parts.push_back(part);
  return parts;
}

double signature_bytes(const ComparedSets &sets, const PlanRange &range, double steps) {
  const uint64_t padded = (sets.self_join ? 0 : padded_signatures(range.end - range.begin)) +
                          padded_signatures(range.partner_end - range.partner_begin);
  return static_cast<double>(padded) * steps * step_words * sizeof(uint32_t);
}

double table_bytes(const ComparedSets &sets, const BitmapRange &range) {
  constexpr double with_groups = 1.75;  // parts of 4 and groups of 2 and more
  return signature_bytes(sets, range.plan, range.width() * (range.group > 1 ? with_groups : 1));
}

std::vector<BitmapRange> bitmap_ranges(const ComparedSets &sets, const SignatureWidths &widths,
                                       uint32_t border, double most_bytes) {
  std::vector<BitmapRange> ranges;
  if (sets.probes.sets == 0 || sets.partners.sets == 0) return ranges;
  for (uint32_t width = 0; width < SignatureWidths::count; ++width) {
    const uint64_t smallest = width == 0 ? 1 : uint64_t{widths.limit(width - 1)} + 1;
    const uint32_t from = sets.probes.lower_bound(smallest);
    const uint32_t begin = sets.self_join ? from : std::max(from, border);
    const uint32_t end =
        sets.probes.lower_bound(std::min<uint64_t>(uint64_t{widths.limit(width)} + 1, UINT32_MAX));
    if (begin >= end) continue;
    const PlanRange plan = range_of(sets, begin, end, border);
    if (plan.partner_begin == plan.partner_end) continue;
    uint32_t affordable = width;
    const auto steps = [&] { return SignatureWidths::steps(affordable); };
    while (steps() > warp_steps && signature_bytes(sets, plan, steps()) > most_bytes) --affordable;
    ranges.push_back({plan, steps()});
  }
  return ranges;
}

}  // namespace simjoin::gpu
