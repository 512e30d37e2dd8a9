#include "cuda/engine/range_work.hpp"

#include <optional>
#include <utility>

#include "cuda/base/tuning.hpp"
#include "cuda/engine/bitmap_tables.hpp"
#include "cuda/engine/group_choice.hpp"
#include "cuda/filters/bitmap/bitmap_filter.hpp"

namespace simjoin::gpu {
namespace {

// Compares all pairs of a range by their signatures. A launch whose candidates do not fit is repeated with
// fewer items. The capacity for one item is checked beforehand. Returns what is left of the range, if groups
// of partners turned out to cost more than they save.
std::optional<BitmapRange> compare_once(const RangeWork &work, const BitmapRange &range) {
  const auto &[spec, options, device, collection, sets, launches, report] = work;
  TilePlan plan = plan_tiles(sets.bounds, sets.probes, sets.partners, sets.self_join, range.plan,
                             range.width(), range.group, device.processors(), launches.room());
  if (plan.items == 0) return std::nullopt;
  const BitmapTables tables(device, collection, sets, range, std::move(plan));
  VerificationJob job = work.verification_job();
  tables.check_signatures(job);
  BitmapJob filter_job = tables.job(launches.candidates().view());
  if (range.group > 1) {
    filter_job.most_groups = static_cast<uint64_t>(launch_ms * tuning::passing_groups_per_ms);
  }
  const BitmapKernel kernel = kernel_for(device, options.bitmap_kernel);
  report.explain(tables.describe(kernel, device));
  launches.open_window(sets.probes, range.plan.begin, range.plan.end);
  const double item_pairs = tables.plan().pairs_per_item();
  const double items_per_ms = comparisons_per_ms(kernel, range.width()) * range.group / item_pairs;
  const ItemRun ran = launches.run(
      &job, tables.plan().items, first_items(items_per_ms, device.processors()),
      [&](uint64_t begin, uint64_t end) {
        filter_job.begin_item = static_cast<uint32_t>(begin);
        filter_job.end_item = static_cast<uint32_t>(end);
        launch_filter(device, kernel, filter_job);
      },
      filter_job.most_groups);
  report.update([&](JoinStats &stats, GpuFigures &figures) {
    figures.filter_pairs += ran.run * item_pairs;
    figures.filter_bit_pairs += ran.run * item_pairs / range.group * range.width() * step_bits;
    stats.used_bitmap = true;
  });
  if (ran.end == tables.plan().items) return std::nullopt;
  return tables.rest_from(static_cast<uint32_t>(ran.end));
}

}  // namespace

VerificationJob RangeWork::verification_job() const {
  return {sets.bounds,
          collection.ranks.data(),
          sets.probes.records.data(),
          sets.partners.records.data(),
          {},
          {},
          false,
          false,
          spec.threshold <= 0,
          sets.self_join};
}

void RangeWork::compare(const BitmapRange &range) const {
  for (std::optional<BitmapRange> left = range; left;) left = compare_once(*this, *left);
}

}  // namespace simjoin::gpu
