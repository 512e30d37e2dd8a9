#include "cuda/engine/bitmap_tables.hpp"

#include <algorithm>
#include <utility>

namespace simjoin::gpu {

BitmapTables::BitmapTables(Device &device, const DeviceCollection &collection, const ComparedSets &sets,
                           const BitmapRange &range, TilePlan plan)
    : sets_(sets),
      range_(range),
      plan_(std::move(plan)),
      layout_(collection.layout(range.width(), range.group > 1 ? group_excess_bits : 0)),
      probes_(device, collection, sets.probes, range.plan.begin,
              (sets.self_join ? std::max(range.plan.end, range.plan.partner_end) : range.plan.end) -
                  range.plan.begin,
              layout_),
      tiles_(device, plan_.tiles.size()) {
  if (!sets.self_join) {
    partners_.emplace(device, collection, sets.partners, range.plan.partner_begin,
                      range.plan.partner_end - range.plan.partner_begin, layout_);
  }
  if (range.group > 1) groups_.emplace(device, partners(), range.group);
  copy_to_device(device, tiles_.data(), plan_.tiles.data(), plan_.tiles.size());
}

SignatureView BitmapTables::probes() const {
  SignatureView view = probes_.view();
  view.sets = range_.plan.end - range_.plan.begin;
  return view;
}

void BitmapTables::check_signatures(VerificationJob &job) const {
  job.probe_signatures = probes();
  job.partner_signatures = partners();
  job.check_signatures = true;
  job.exact_signatures = layout_.exact();
}

BitmapJob BitmapTables::job(const CandidateView &candidates) const {
  return {LeastOverlap(sets_.bounds),
          probes(),
          groups_ ? groups_->groups() : partners(),
          groups_ ? groups_->parts() : partners(),
          partners(),
          range_.group,
          groups_ ? groups_->part() : 1,
          tiles_.data(),
          static_cast<uint32_t>(tiles_.size()),
          plan_.segment,
          sets_.self_join,
          range_.plan.partner_from,
          0,
          0,
          candidates};
}

std::string BitmapTables::describe(BitmapKernel kernel, const Device &device) const {
  const char *how = kernel == BitmapKernel::popcount    ? "ordinary cores"
                    : kernel == BitmapKernel::warpgroup ? "tensor cores by warpgroups"
                                                        : "tensor cores by warps";
  std::string text = "bitmaps of " + std::to_string(layout_.steps * step_bits) + " bits, compared on " + how +
                     " (compute capability " + std::to_string(device.capability() / 10) + "." +
                     std::to_string(device.capability() % 10) + ")";
  if (range_.group > 1) text += ", with groups of " + std::to_string(range_.group) + " sets at once";
  if (layout_.exact()) text += ", with a bit for each token: shared bits are the overlap";
  return text;
}

BitmapRange BitmapTables::rest_from(uint32_t item) const {
  const ProbeTile &tile = *std::prev(
      std::upper_bound(plan_.tiles.begin(), plan_.tiles.end(), item,
                       [](uint32_t number, const ProbeTile &later) { return number < later.first_item; }));
  BitmapRange rest{range_.plan, range_.steps};
  rest.plan.begin += tile.probe;
  rest.plan.compared = (tile.partner + (item - tile.first_item) * plan_.segment) * range_.group;
  if (sets_.self_join) {
    // The partners' signatures are those of the probes.
    rest.plan.partner_begin = rest.plan.begin;
    rest.plan.compared -= std::min(rest.plan.compared, tile.probe);
  }
  return rest;
}

}  // namespace simjoin::gpu
