#include "cuda/engine/gpu_join.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/wall_clock.hpp"
#include "cuda/base/tuning.hpp"
#include "cuda/engine/compared_sets.hpp"
#include "cuda/engine/gpu_choice.hpp"
#include "cuda/engine/group_choice.hpp"
#include "cuda/engine/prefix_estimate.hpp"
#include "cuda/engine/several_gpus.hpp"
#include "cuda/filters/bitmap/bitmap_filter.hpp"

namespace simjoin::gpu {
namespace {

using namespace tuning;
using Clock = WallClock;

// Returns what a counting strategy lists, and nothing for other strategies.
std::optional<IndexedPart> counted_part(GpuOptions::Strategy strategy) {
  switch (strategy) {
    case GpuOptions::Strategy::gssjoin:
      return IndexedPart::all;
    case GpuOptions::Strategy::sf_gssjoin:
      return IndexedPart::sized;
    case GpuOptions::Strategy::fgssjoin:
      return IndexedPart::prefixes;
    default:
      return std::nullopt;
  }
}

const char *counting_name(GpuOptions::Strategy strategy) {
  return strategy == GpuOptions::Strategy::gssjoin    ? "gssjoin"
         : strategy == GpuOptions::Strategy::fgssjoin ? "fgssjoin"
                                                      : "sf_gssjoin";
}

}  // namespace

double join_device_bytes(uint64_t tokens, uint64_t rows, bool wide) {
  return static_cast<double>(tokens) * (wide ? bytes_per_wide_token : bytes_per_token) +
         static_cast<double>(rows) * bytes_per_row;
}

GpuJoin::GpuJoin(const JoinSpec &spec, const GpuOptions &options)
    : spec_(spec),
      options_(options),
      bounds_(spec.measure, spec.threshold),
      device_(options.memory_limit, options.kept_memory) {
  for (int side = 0; side < (spec.self_join ? 1 : 2); ++side) {
    input_[side] = std::make_unique<UploadedSide>(device_);
  }
  report_.update([&](JoinStats &, GpuFigures &figures) { figures.device = device_.name(); });
}

void GpuJoin::reserve(Side side, uint64_t token_bytes, uint64_t rows) {
  UploadedSide &input = *input_[static_cast<int>(side)];
  input.tokens.reserve(token_bytes);
  input.lengths.reserve(rows * sizeof(uint32_t));
}

void GpuJoin::add(Side side, const SharedBlock &block, const SetSlice &slice) {
  input_[static_cast<int>(side)]->append(block, slice);
}

void GpuJoin::build() {
  auto begin = Clock::now();
  for (const auto &input : input_) {
    if (input) input->finish();
  }
  device_.synchronize();
  stop_->check();
  const double upload = milliseconds_since(begin);
  begin = Clock::now();
  uint64_t rows = 0, tokens = 0;
  bool wide = false;
  for (const auto &input : input_) {
    if (!input) continue;
    rows += input->rows;
    tokens += input->total;
    wide |= input->wide;
    if (input->pageable_blocks > 0) {
      report_.explain("uploads were slower: " + std::to_string(input->pageable_blocks) + " of " +
                      std::to_string(input->blocks) + " blocks of sets could not be page-locked, " +
                      input->why_pageable);
    }
  }
  // Done here, while the join can still be cut into tiles, and before another process takes the memory.
  device_.secure(static_cast<size_t>(
      std::min(join_device_bytes(tokens, rows, wide), static_cast<double>(device_.memory_limit()))));
  widths_ = widths_for(bounds_, static_cast<double>(tokens) / std::max(1.0, static_cast<double>(rows)));
  collection_ = build_collection(device_, input_[0].get(), input_[1].get(), widths_, *stop_);
  for (auto &input : input_) input.reset();
  report_.update([&](JoinStats &stats, GpuFigures &figures) {
    figures.upload_ms = upload;
    figures.build_ms = milliseconds_since(begin);
    stats.build_ms = figures.build_ms;
    for (int side = 0; side < (spec_.self_join ? 1 : 2); ++side) {
      const DeviceSide &sets = collection_.sides[side];
      stats.sets[side] = sets.sets - sets.lower_bound(1);
      stats.tokens[side] = collection_.tokens[side];
    }
    stats.distinct_tokens = collection_.distinct_tokens;
    const uint64_t left = collection_.sides[0].sets;
    stats.pairs = spec_.self_join ? left * (left - (left > 0)) / 2 : left * collection_.sides[1].sets;
  });
}

// Hands over every pair.
void GpuJoin::run_everything() {
  const VerificationJob job = work().verification_job();
  const uint64_t pairs = uint64_t{probes().sets} * partners().sets;
  launches_->open_window(probes(), 0, probes().sets);
  for (uint64_t begin = 0; begin < pairs;) {
    const uint64_t end = std::min(pairs, begin + launches_->room());
    launches_->run_batch(&job, end - begin, [&] {
      launch_enumeration(device_, begin, end, partners().sets, spec_.self_join,
                         launches_->candidates().view());
    });
    begin = end;
  }
}

// Visits the lists of the prefixes of the probes before the border.
void GpuJoin::run_prefix(const DevicePrefixIndex &index, uint32_t border) {
  const uint64_t entries = index.entries_before(device_, border);
  if (entries == 0) return;
  const uint64_t items = (entries + prefix_item_entries - 1) / prefix_item_entries;
  const DeviceSignatureLayout layout = collection_.layout(prefix_signature_steps);
  const DeviceSignatureTable probe_table(device_, collection_, probes(), 0, border, layout);
  std::unique_ptr<DeviceSignatureTable> partner_table;
  if (!spec_.self_join) {
    partner_table = std::make_unique<DeviceSignatureTable>(device_, collection_, partners(), 0,
                                                           index.end_partner(), layout);
  }
  VerificationJob job = work().verification_job();
  job.probe_signatures = probe_table.view();
  job.partner_signatures = partner_table ? partner_table->view() : job.probe_signatures;
  job.check_signatures = true;
  launches_->open_window(probes(), 0, border);
  double ms = 0;
  for (size_t i = 0; i < index.class_entries().size() && probes().classes[i].begin < border; ++i) {
    ms += entries_ms(static_cast<double>(index.class_entries()[i]), probes().classes[i].size);
  }
  const ItemRun visited = launches_->run(
      &job, items, first_items(static_cast<double>(items) / std::max(ms, 1e-6), device_.processors()),
      [&](uint64_t begin, uint64_t end) {
        launch_prefix_filter(device_, bounds_, collection_, spec_.self_join, index, entries,
                             job.probe_signatures, job.partner_signatures, begin, end,
                             launches_->candidates().view());
      });
  report_.update([&](JoinStats &stats, GpuFigures &figures) {
    figures.list_entries += visited.run * prefix_item_entries;
    stats.used_prefix = true;
  });
}

// Counts shared tokens in inverted lists.
void GpuJoin::run_counting(IndexedPart part) {
  const auto begin = Clock::now();
  const CountingJoin join(device_, bounds_, collection_, spec_.self_join, part, *stop_);
  const double index_ms = milliseconds_since(begin);
  VerificationJob job = work().verification_job();
  const double entries = std::max(1.0, static_cast<double>(join.entries()));
  const double items = static_cast<double>(join.items());
  launches_->open_window(probes(), 0, probes().sets);
  const double items_per_ms = std::min(counting_items_per_ms, items * counted_entries_per_ms / entries);
  launches_->run(
      join.exact() ? nullptr : &job, join.items(), first_items(items_per_ms, device_.processors()),
      [&](uint64_t first, uint64_t end) { join.launch_items(device_, first, end, launches_->candidates()); });
  char text[200];
  std::snprintf(text, sizeof text, "%s asked for: %.3g list entries counted in shared memory, in %.0f parts",
                counting_name(options_.strategy), static_cast<double>(join.entries()), items);
  report_.update([&](JoinStats &stats, GpuFigures &figures) {
    figures.index_ms = index_ms;
    figures.list_entries += entries;
    if (!join.exact()) stats.after_prefix = figures.candidates;
  });
  report_.explain(text);
}

// Returns the border: the prefix index takes the probes before it, the bitmap filter those from it on.
// `index` gets an index of the probes before the border that an estimate chooses. The entries that are then
// counted can only move it down.
uint32_t GpuJoin::choose_border(std::unique_ptr<DevicePrefixIndex> &index) {
  const auto strategy = options_.strategy;
  if (strategy == GpuOptions::Strategy::bitmap) return 0;
  const std::vector<DeviceSizeClass> &classes = probes().classes;
  BorderChoice choice;
  choice.border = strategy == GpuOptions::Strategy::mixed ? classes.size() / 2 : classes.size() - 1;
  const BitmapKernel kernel = kernel_for(device_, options_.bitmap_kernel);
  const std::vector<double> costs =
      bitmap_costs(bounds_, probes(), partners(), spec_.self_join, widths_, kernel);
  const double bitmap_ms = std::accumulate(costs.begin(), costs.end(), 0.0);
  if (strategy == GpuOptions::Strategy::automatic) {
    if (bitmap_ms <= index_cost(0)) {
      report_.explain("bitmap filter for all sets: an estimated " + std::to_string(bitmap_ms) + " ms");
      return 0;
    }
    const PrefixEstimate estimate = estimate_prefixes(device_, bounds_, collection_, spec_.self_join);
    stop_->check();
    choice = gpu::choose_border(probes(), prefix_costs(probes(), estimate.entries, estimate.tokens), costs);
    report_.explain(choice.reason);
    if (choice.border == 0) return 0;
  }
  const auto begin = Clock::now();
  index = std::make_unique<DevicePrefixIndex>(device_, bounds_, collection_, spec_.self_join,
                                              classes[choice.border].begin, *stop_);
  report_.update([&](JoinStats &, GpuFigures &figures) { figures.index_ms = milliseconds_since(begin); });
  if (strategy == GpuOptions::Strategy::automatic) {
    const auto found = index->class_entries().begin();
    const std::vector<double> entries(found, found + static_cast<ptrdiff_t>(choice.border));
    choice = gpu::choose_border(probes(), prefix_costs(probes(), entries, {}), costs);
    report_.explain("once the index was built: " + choice.reason);
  }
  return classes[choice.border].begin;
}

void GpuJoin::run_filters(PairSink &sink) {
  std::unique_ptr<DevicePrefixIndex> index;
  const uint32_t border = choose_border(index);
  if (border > 0) run_prefix(*index, border);
  index.reset();
  if (border >= probes().sets) return;
  const uint64_t most_group = std::min<uint64_t>(launches_->room() / least_item_pairs, group_sizes[0]);
  const ComparedSets sets = compared();
  const GroupInputs inputs{device_,
                           collection_,
                           sets,
                           kernel_for(device_, options_.bitmap_kernel),
                           border,
                           static_cast<uint32_t>(most_group),
                           options_.bitmap_group};
  const std::vector<BitmapRange> ranges =
      bitmap_ranges(sets, widths_, border, table_share * static_cast<double>(device_.memory_left()));
  compare_ranges(work(), choose_groups(inputs, ranges), sink, *stop_);
}

void GpuJoin::run(PairSink &sink, const StopFlag &stop) {
  stop_ = &stop;
  const auto begin = Clock::now();
  build();
  const auto built = Clock::now();
  sink.built(collection_);
  stop.check();
  if (!std::isnan(spec_.threshold) && probes().sets > 0 && partners().sets > 0) {
    launches_.emplace(device_, options_.candidate_capacity, sink, stop, report_);
    if (spec_.threshold <= 0) {
      run_everything();
    } else {
      const uint64_t pairs = compatible_pairs(compared());
      report_.update([&](JoinStats &stats, GpuFigures &) { stats.after_length = pairs; });
      if (const auto part = counted_part(options_.strategy)) {
        run_counting(*part);
      } else {
        run_filters(sink);
      }
    }
    launches_->hand_over();
  }
  report_.update([&](JoinStats &stats, GpuFigures &figures) {
    stats.algorithm = spec_.threshold <= 0              ? "all pairs"
                      : counted_part(options_.strategy) ? counting_name(options_.strategy)
                      : stats.used_prefix               ? (stats.used_bitmap ? "prefix + bitmap" : "prefix")
                                                        : "bitmap";
    if (spec_.threshold <= 0) stats.after_length = stats.pairs;
    stats.filter_ms = figures.filter_ms;
    stats.verify_ms = figures.verify_ms;
    stats.join_ms = milliseconds_since(built);
    figures.device_memory_peak = std::max(figures.device_memory_peak, device_.memory_peak());
    figures.total_ms = milliseconds_since(begin);
  });
}

}  // namespace simjoin::gpu
