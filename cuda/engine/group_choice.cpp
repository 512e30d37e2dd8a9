#include "cuda/engine/group_choice.hpp"

#include <algorithm>

#include "cuda/base/tuning.hpp"
#include "cuda/engine/gpu_choice.hpp"
#include "cuda/filters/bitmap/group_sample.hpp"

namespace simjoin::gpu {
namespace {

using namespace tuning;

// Returns sets to sample of a part: probes near the ends of its middle half, each with partners near the ends
// of the middle half of theirs.
std::vector<SampledSets> sampled_sets(const GroupInputs &inputs, const RangePart &part) {
  std::vector<SampledSets> sampled;
  for (const uint64_t quarter : {1, 3}) {
    const auto probe = static_cast<uint32_t>(part.begin + (part.end - part.begin) * quarter / 4);
    if (probe + uint64_t{sampled_probes} > inputs.sets.probes.sets) continue;
    const PlanRange range = range_of(inputs.sets, probe, probe + sampled_probes, inputs.border);
    const uint64_t begin =
        std::max(range.partner_begin + (inputs.sets.self_join ? sampled_probes : 0), range.partner_from);
    if (begin + sampled_partners > range.partner_end ||
        range.partner_end > inputs.sets.partners.lower_bound(warp_set_tokens + 1)) {
      continue;
    }
    for (const uint64_t of_four : {1, 3}) {
      const uint64_t spare = range.partner_end - begin - sampled_partners;
      sampled.push_back({probe, static_cast<uint32_t>(begin + spare * of_four / 4)});
    }
  }
  return sampled;
}

// Returns whether the tables of groups for the probes [begin, end) leave enough memory for all else.
bool fits(const GroupInputs &inputs, uint32_t begin, uint32_t end) {
  const BitmapRange grouped{range_of(inputs.sets, begin, end, 0), group_steps, 2};
  return table_bytes(inputs.sets, grouped) < table_share * static_cast<double>(inputs.device.memory_left());
}

// Returns how many partners it costs least to compare at once in a part. Larger sets leave more groups, so
// `most_group` is what was chosen for smaller sets.
uint32_t choose(const GroupInputs &inputs, const RangePart &part, uint32_t pair_steps, uint32_t most_group) {
  const std::vector<SampledSets> sampled = sampled_sets(inputs, part);
  if (sampled.empty() || !fits(inputs, part.begin, part.end)) return 1;
  const GroupSample sample(inputs.device, inputs.sets.bounds, inputs.collection, inputs.sets.probes,
                           inputs.sets.partners, sampled);
  uint32_t best = 1;
  double best_ms = 1 / comparisons_per_ms(inputs.kernel, pair_steps);
  for (const uint32_t group : group_sizes) {
    if (group > most_group) continue;
    const double least_ms = 1 / comparisons_per_ms(inputs.kernel, group_steps) / group;
    if (least_ms >= best_ms) break;
    const double ms = least_ms + sample.passing_share(group) / group / passing_groups_per_ms;
    if (ms < best_ms) {
      best = group;
      best_ms = ms;
    }
  }
  return best;
}

// Returns a range cut by the work of comparing it pair by pair.
std::vector<RangePart> parts_of(const GroupInputs &inputs, const BitmapRange &range) {
  return cut_range(inputs.sets, range.plan, least_part_ms * comparisons_per_ms(inputs.kernel, range.steps),
                   part_growth);
}

// Returns the milliseconds of comparing a part pair by pair.
double part_ms(const GroupInputs &inputs, const BitmapRange &range, const RangePart &part) {
  return part.pairs / comparisons_per_ms(inputs.kernel, range.steps);
}

// Appends the parts of a range to those already chosen. Adjacent parts with the same groups become one.
void choose_parts(const GroupInputs &inputs, const BitmapRange &range, uint32_t &most_group,
                  std::vector<BitmapRange> &chosen) {
  const size_t first = chosen.size();
  for (const RangePart &part : parts_of(inputs, range)) {
    uint32_t group = 1, begin = part.begin;
    if (part_ms(inputs, range, part) >= least_part_ms && most_group > 1) {
      group = choose(inputs, part, range.steps, most_group);
      // Tiny sets share their few tokens with many groups, so they say nothing of larger ones.
      if (group > 1 || most_group < inputs.most_group) most_group = group;
    }
    if (chosen.size() > first && chosen.back().group == group &&
        (group == 1 || fits(inputs, chosen.back().plan.begin, part.end))) {
      begin = chosen.back().plan.begin;
      chosen.pop_back();
    }
    chosen.push_back({range_of(inputs.sets, begin, part.end, inputs.border), range.steps, group});
  }
}

// Returns whether comparing all pairs one by one takes so long that groups can save the time of a sample.
bool worth_a_sample(const GroupInputs &inputs, const std::vector<BitmapRange> &ranges) {
  double ms = 0;
  for (const BitmapRange &range : ranges) {
    if (range.steps > group_steps) continue;
    for (const RangePart &part : parts_of(inputs, range)) ms += part_ms(inputs, range, part);
  }
  return ms >= least_grouped_ms;
}

}  // namespace

double comparisons_per_ms(BitmapKernel kernel, uint32_t steps) {
  const bool linear = kernel == BitmapKernel::popcount || steps > group_steps;
  const double further = linear ? 1 : further_step;
  return pairs_per_ms(kernel) / (1 + (steps - 1) * further);
}

std::vector<BitmapRange> choose_groups(const GroupInputs &inputs, const std::vector<BitmapRange> &ranges) {
  if (inputs.wanted == 0 && !worth_a_sample(inputs, ranges)) return ranges;
  std::vector<BitmapRange> chosen;
  uint32_t most_group = inputs.most_group;
  for (const BitmapRange &range : ranges) {
    if (inputs.wanted != 0) {
      chosen.push_back({range.plan, range.steps, std::min(inputs.wanted, inputs.most_group)});
    } else if (range.steps > group_steps) {
      chosen.push_back(range);
    } else {
      choose_parts(inputs, range, most_group, chosen);
    }
  }
  return chosen;
}

}  // namespace simjoin::gpu
