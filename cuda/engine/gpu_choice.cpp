#include "cuda/engine/gpu_choice.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cuda/base/tuning.hpp"

namespace simjoin::gpu {
namespace {

using namespace tuning;

// Returns the share of pairs of sets of `size` that signatures of `bits` bits do not separate. It assumes
// equally frequent tokens. The bits shared by chance, and the bits lost by collisions, then reach the bound.
double surviving_share(const Bounds &bounds, uint32_t size, uint32_t bits) {
  const double set = bits * -std::expm1(-static_cast<double>(size) / bits), free = 1 - set / bits;
  const double shared = set * set / bits;
  const double needed = static_cast<double>(bounds.min_overlap(size, size)) - (size - set) - shared;
  return 0.5 * std::erfc(needed / std::sqrt(2 * shared * free * free));
}

}  // namespace

double pairs_per_ms(BitmapKernel kernel) {
  return kernel == BitmapKernel::popcount    ? popcount_pairs_per_ms
         : kernel == BitmapKernel::warpgroup ? warpgroup_pairs_per_ms
                                             : warp_pairs_per_ms;
}

double entries_ms(double entries, uint32_t size) {
  const double scale = size / list_entry_size;
  return entries * (1 + scale * scale) / list_entries_per_ms;
}

std::vector<double> bitmap_costs(const Bounds &bounds, const DeviceSide &probes, const DeviceSide &partners,
                                 bool self_join, const SignatureWidths &widths, BitmapKernel kernel) {
  const std::vector<DeviceSizeClass> &classes = probes.classes;
  std::vector<double> costs(classes.size() - 1, 0);
  if (partners.sets == 0) return costs;
  const int64_t largest = partners.classes.end()[-2].size;
  for (size_t i = 0; i < costs.size(); ++i) {
    const uint32_t size = classes[i].size;
    const double sets = classes[i + 1].begin - classes[i].begin;
    const uint32_t first =
        partners.lower_bound(static_cast<uint64_t>(std::max<int64_t>(1, bounds.min_partner(size))));
    const uint32_t end =
        self_join ? classes[i + 1].begin
                  : partners.lower_bound(static_cast<uint64_t>(bounds.max_partner(size, largest)) + 1);
    if (size == 0 || first >= end) continue;
    const double pairs = sets * (end - first) * (self_join && first == classes[i].begin ? 0.5 : 1);
    const uint32_t steps = SignatureWidths::steps(widths.width_of(size));
    costs[i] = pairs * steps / pairs_per_ms(kernel);
    if (size <= tiny_size) costs[i] += pairs / tiny_pairs_per_ms;
    costs[i] += pairs * surviving_share(bounds, size, steps * step_bits) *
                (2.0 * size + survivor_pair_tokens) / survivor_tokens_per_ms;
  }
  return costs;
}

double index_cost(double tokens) {
  return index_start_ms + tokens / index_tokens_per_ms;
}

std::vector<double> prefix_costs(const DeviceSide &probes, const std::vector<double> &entries,
                                 const std::vector<double> &tokens) {
  std::vector<double> costs;
  for (size_t i = 0; i < entries.size(); ++i) {
    costs.push_back(entries_ms(entries[i], probes.classes[i].size));
    // Any index has the first class, and with it what an index costs at least.
    if (!tokens.empty()) costs[i] += index_cost(tokens[i]) - (i == 0 ? 0 : index_cost(0));
  }
  return costs;
}

BorderChoice choose_border(const DeviceSide &probes, const std::vector<double> &prefix_ms,
                           const std::vector<double> &bitmap_ms) {
  const std::vector<DeviceSizeClass> &classes = probes.classes;
  double bitmap = 0, prefix = 0;
  for (double cost : bitmap_ms) bitmap += cost;
  const double all_bitmap = bitmap;
  double best = bitmap, best_prefix = 0, best_bitmap = bitmap;
  BorderChoice choice;
  for (size_t i = 0; i < prefix_ms.size(); ++i) {
    prefix += prefix_ms[i];
    bitmap -= bitmap_ms[i];
    if (prefix + bitmap < best) {
      best = prefix + bitmap;
      best_prefix = prefix;
      best_bitmap = bitmap;
      choice.border = i + 1;
    }
  }
  const std::string part =
      choice.border == 0 ? "no set"
      : choice.border + 1 == classes.size()
          ? "all sets"
          : "sets of fewer than " + std::to_string(classes[choice.border].size) + " tokens";
  char text[200];
  std::snprintf(
      text, sizeof text,
      "prefix index for %s, bitmap filter for the others: an estimated %.1f + %.1f ms, against %.1f "
      "for bitmaps alone and %.1f for %s",
      part.c_str(), best_prefix, best_bitmap, all_bitmap, prefix + bitmap,
      prefix_ms.size() + 1 == classes.size() ? "the index alone" : "all that the index has");
  choice.reason = text;
  return choice;
}

}  // namespace simjoin::gpu
