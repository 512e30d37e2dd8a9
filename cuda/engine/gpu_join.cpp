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
#include "cuda/engine/gpu_choice.hpp"
#include "cuda/engine/prefix_estimate.hpp"

namespace simjoin::gpu {
namespace {

using namespace tuning;
using Clock = WallClock;

// Candidates of one launch, unless memory is short.
constexpr uint64_t default_candidates = uint64_t{8} << 20;
constexpr size_t bytes_per_candidate = sizeof(Candidate) + 4 * sizeof(uint32_t);
// Returns the size up to which signatures of one step separate sets of this average size. Wider signatures
// take sizes in proportion. It depends on the Jaccard similarity that two sets of equal size need. The sizes
// were measured on DBLP-shaped sets for similarities from 0.5 on. Below, they keep the bits shared by chance
// and lost by collisions within about 0.6 of the needed ones: 1.5 * size^2 / bits of size * 2t / (1 + t).
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

// Describes for EXPLAIN how signatures of this layout are compared.
std::string describe(BitmapKernel kernel, const Device &device, const DeviceSignatureLayout &layout) {
  const bool wide = layout.steps > widest_warpgroup_steps;
  const char *how = kernel == BitmapKernel::popcount             ? "ordinary cores"
                    : kernel == BitmapKernel::warpgroup && !wide ? "tensor cores by warpgroups"
                                                                 : "tensor cores by warps";
  std::string text = "bitmaps of " + std::to_string(layout.bits()) + " bits, compared on " + how +
                     " (compute capability " + std::to_string(device.capability() / 10) + "." +
                     std::to_string(device.capability() % 10) + ")";
  if (layout.exact()) text += ", with a bit for each token: shared bits are the overlap";
  return text;
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
      device_(options.memory_limit, options.kept_memory),
      counters_(1) {
  for (int side = 0; side < (spec.self_join ? 1 : 2); ++side) {
    input_[side] = std::make_unique<UploadedSide>(device_);
  }
  figures_.device = device_.name();
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
      explain("uploads were slower: " + std::to_string(input->pageable_blocks) + " of " +
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
  const std::lock_guard lock(mutex_);
  figures_.upload_ms = upload;
  figures_.build_ms = milliseconds_since(begin);
  stats_.build_ms = figures_.build_ms;
  for (int side = 0; side < (spec_.self_join ? 1 : 2); ++side) {
    const DeviceSide &sets = collection_.sides[side];
    stats_.sets[side] = sets.sets - sets.lower_bound(1);
    stats_.tokens[side] = collection_.tokens[side];
  }
  stats_.distinct_tokens = collection_.distinct_tokens;
  const uint64_t left = collection_.sides[0].sets;
  stats_.pairs = spec_.self_join ? left * (left - (left > 0)) / 2 : left * collection_.sides[1].sets;
}

// Counts the pairs of compatible sizes.
void GpuJoin::count_compatible() {
  const DeviceSide &left = probes(), &right = partners();
  if (left.sets == 0 || right.sets == 0) return;
  const int64_t largest = right.classes.end()[-2].size;
  uint64_t pairs = 0;
  for (size_t i = 0; i + 1 < left.classes.size(); ++i) {
    const uint32_t size = left.classes[i].size;
    if (size == 0) continue;
    const uint64_t sets = left.classes[i + 1].begin - left.classes[i].begin;
    const uint64_t end = right.lower_bound(static_cast<uint64_t>(bounds_.max_partner(size, largest)) + 1);
    const uint64_t begin =
        right.lower_bound(static_cast<uint64_t>(spec_.self_join ? size + 1 : bounds_.min_partner(size)));
    if (end > begin) pairs += sets * (end - begin);
    if (spec_.self_join && bounds_.satisfied(size, size, size)) pairs += sets * (sets - 1) / 2;
  }
  const std::lock_guard lock(mutex_);
  stats_.after_length = pairs;
}

// Returns one range of probes for each signature width, with all their possible partners. Pairs of sets
// before the border are left out: of the later set in a self-join, of the left set otherwise.
std::vector<GpuJoin::Range> GpuJoin::bitmap_ranges(uint32_t border) const {
  std::vector<Range> ranges;
  if (probes().sets == 0 || partners().sets == 0) return ranges;
  const int64_t largest = partners().classes.end()[-2].size;
  for (uint32_t width = 0; width < SignatureWidths::count; ++width) {
    const uint64_t smallest = width == 0 ? 1 : uint64_t{widths_.limit(width - 1)} + 1;
    const uint32_t from = probes().lower_bound(smallest);
    const uint32_t begin = spec_.self_join ? from : std::max(from, border);
    const uint32_t end =
        probes().lower_bound(std::min<uint64_t>(uint64_t{widths_.limit(width)} + 1, UINT32_MAX));
    if (begin >= end) continue;
    const auto size_of = [&](uint32_t set) {
      return std::upper_bound(probes().classes.begin(), probes().classes.end(), set,
                              [](uint32_t number, const DeviceSizeClass &c) { return number < c.begin; })[-1]
          .size;
    };
    const int64_t smallest_partner = bounds_.min_partner(size_of(begin));
    const int64_t largest_partner = bounds_.max_partner(size_of(end - 1), largest);
    const uint32_t first = spec_.self_join ? begin : partners().lower_bound(smallest_partner);
    const uint32_t last = partners().lower_bound(static_cast<uint64_t>(largest_partner) + 1);
    if (first < last)
      ranges.push_back(
          {{begin, end, first, last, spec_.self_join ? border : 0}, SignatureWidths::steps(width)});
  }
  return ranges;
}

VerificationJob GpuJoin::verification_job() const {
  return {
      bounds_, collection_.ranks.data(), probes().records.data(), partners().records.data(), {}, {}, false,
      false,   spec_.threshold <= 0,     spec_.self_join};
}

// Sets the first number of candidates to verify, for probes [begin, end). It assumes sets of the size to
// which the middle one of their tokens belongs, roughly.
void GpuJoin::open_window(uint32_t begin, uint32_t end) {
  double tokens = 0, squares = 0;
  for (size_t i = 0; i + 1 < probes().classes.size(); ++i) {
    const uint32_t first = std::max(begin, probes().classes[i].begin);
    const uint32_t last = std::min(end, probes().classes[i + 1].begin);
    if (first >= last) continue;
    const double size = probes().classes[i].size;
    tokens += size * (last - first);
    squares += size * size * (last - first);
  }
  const double pair_tokens = verified_pair_tokens + 2 * squares / std::max(1.0, tokens);
  window_ = first_items(verified_tokens_per_ms / pair_tokens, device_.processors());
}

// Runs one filter launch of `items` items and verifies its candidates. If `job` is null, the candidates are
// results. Hands the pairs over and returns the filter's work and time. After an overflow of the candidates
// it does nothing more.
template <typename Filter>
FinishedLaunch GpuJoin::run_batch(const VerificationJob *job, uint64_t items, Filter &&filter) {
  stop_->check();
  candidates_->counters.fill(0);
  begin_.record(device_.stream());
  filter();
  filtered_.record(device_.stream());
  if (job != nullptr) launch_verification(device_, *job, *candidates_, 0, static_cast<uint64_t>(window_));
  verified_.record(device_.stream());
  copy_to_host(device_, counters_.data(), candidates_->counters.data(), 1);
  device_.synchronize();
  const double filter_ms = filtered_.since(begin_);
  double verify_ms = verified_.since(filtered_);
  note_launch(filter_ms);
  const bool fits = counters_[0].candidates <= candidates_->pairs.size();
  if (job != nullptr && fits) verify_ms = verify_rest(*job, counters_[0].candidates, verify_ms);
  PairCounters found = counters_[0];
  if (job == nullptr) found.results = found.verified = found.candidates;
  {
    const std::lock_guard lock(mutex_);
    figures_.filter_ms += filter_ms;
    figures_.verify_ms += verify_ms;
    figures_.device_memory_peak = device_.memory_peak();
    if (fits) {
      figures_.candidates += found.candidates;
      if (job != nullptr && job->check_signatures) stats_.after_bitmap += found.verified;
      stats_.verified += found.verified;
    } else {
      ++figures_.launches_repeated;
    }
  }
  if (fits) hand_over(found.results);
  // After an overflow, the filter may have ended before its last item.
  const bool all = fits || found.next_item == 0;
  const uint64_t taken = all ? items : std::min<uint64_t>(items, found.next_item);
  return {static_cast<double>(taken), filter_ms, found.candidates};
}

// Verifies the candidates after the window that was verified together with the filter in `first_ms`. Returns
// the milliseconds of all verification. The counters are on the host at the end.
double GpuJoin::verify_rest(const VerificationJob &job, uint64_t candidates, double first_ms) {
  double sum = first_ms, ms = first_ms;
  for (uint64_t done = 0;;) {
    note_launch(ms);
    const uint64_t verified = std::min<uint64_t>(candidates - done, static_cast<uint64_t>(window_));
    window_ = std::min(next_window({static_cast<double>(verified), ms}, window_),
                       static_cast<double>(candidates_->pairs.size()));
    done += verified;
    if (done >= candidates) return sum;
    stop_->check();
    filtered_.record(device_.stream());
    launch_verification(device_, job, *candidates_, done, done + static_cast<uint64_t>(window_));
    verified_.record(device_.stream());
    copy_to_host(device_, counters_.data(), candidates_->counters.data(), 1);
    device_.synchronize();
    ms = verified_.since(filtered_);
    sum += ms;
  }
}

// Records the longest launch.
void GpuJoin::note_launch(double ms) {
  const std::lock_guard lock(mutex_);
  figures_.longest_launch_ms = std::max(figures_.longest_launch_ms, ms);
}

// Fetches the results and pushes them to the queue.
void GpuJoin::hand_over(uint64_t results) {
  const auto begin = Clock::now();
  fetcher_.fetch(device_, *candidates_, results, false, [this](Batch &batch) { sink_->push(batch); });
  const std::lock_guard lock(mutex_);
  stats_.output += results;
  figures_.download_ms += milliseconds_since(begin);
}

// Hands over every pair.
void GpuJoin::run_everything() {
  const VerificationJob job = verification_job();
  const uint64_t pairs = uint64_t{probes().sets} * partners().sets;
  open_window(0, probes().sets);
  for (uint64_t begin = 0; begin < pairs;) {
    const uint64_t end = std::min(pairs, begin + candidates_->pairs.size());
    run_batch(&job, end - begin, [&] {
      launch_enumeration(device_, begin, end, partners().sets, spec_.self_join, candidates_->view());
    });
    begin = end;
  }
}

// Compares all pairs of a range by their signatures. A launch whose candidates do not fit is repeated with
// fewer items. The capacity for one item is checked beforehand.
void GpuJoin::run_bitmap(const Range &range) {
  const DeviceSignatureLayout layout = collection_.layout(range.steps);
  const PlanRange &plan_range = range.plan;
  const TilePlan plan = plan_tiles(bounds_, probes(), partners(), spec_.self_join, plan_range,
                                   device_.processors(), candidates_->pairs.size());
  if (plan.items == 0) return;
  const uint32_t probe_end =
      spec_.self_join ? std::max(plan_range.end, plan_range.partner_end) : plan_range.end;
  const DeviceSignatureTable probe_table(device_, collection_, probes(), plan_range.begin,
                                         probe_end - plan_range.begin, layout);
  std::unique_ptr<DeviceSignatureTable> partner_table;
  if (!spec_.self_join) {
    partner_table =
        std::make_unique<DeviceSignatureTable>(device_, collection_, partners(), plan_range.partner_begin,
                                               plan_range.partner_end - plan_range.partner_begin, layout);
  }
  DeviceBuffer<ProbeTile> tiles(device_, plan.tiles.size());
  copy_to_device(device_, tiles.data(), plan.tiles.data(), plan.tiles.size());
  VerificationJob job = verification_job();
  job.probe_signatures = probe_table.view();
  job.partner_signatures = partner_table ? partner_table->view() : job.probe_signatures;
  job.probe_signatures.sets = plan_range.end - plan_range.begin;
  job.check_signatures = true;
  job.exact_signatures = layout.exact();
  BitmapJob filter_job{LeastOverlap(bounds_),
                       job.probe_signatures,
                       job.partner_signatures,
                       tiles.data(),
                       static_cast<uint32_t>(tiles.size()),
                       plan.segment,
                       spec_.self_join,
                       plan_range.partner_from,
                       0,
                       0,
                       candidates_->view()};
  const BitmapKernel kernel = kernel_for(device_, options_.bitmap_kernel);
  explain(describe(kernel, device_, layout));
  open_window(plan_range.begin, plan_range.end);
  const double items_per_ms = pairs_per_ms(kernel) / (plan.pairs_per_item() * range.steps);
  const double compared = run_items(&job, plan.items, first_items(items_per_ms, device_.processors()),
                                    [&](uint64_t begin, uint64_t end) {
                                      filter_job.begin_item = static_cast<uint32_t>(begin);
                                      filter_job.end_item = static_cast<uint32_t>(end);
                                      launch_filter(device_, kernel, filter_job);
                                    });
  const std::lock_guard lock(mutex_);
  figures_.filter_pairs += compared * plan.pairs_per_item();
  figures_.filter_bit_pairs += compared * plan.pairs_per_item() * range.steps * step_bits;
  stats_.used_bitmap = true;
}

// Visits the lists of the prefixes of the probes before the border.
void GpuJoin::run_prefix(const DevicePrefixIndex &index, uint32_t border) {
  const uint64_t entries = index.entries_before(device_, border);
  if (entries == 0) return;
  const uint64_t items = (entries + prefix_item_entries - 1) / prefix_item_entries;
  const DeviceSignatureLayout layout = collection_.layout(prefix_signature_steps);
  const DeviceSignatureTable probe_table(device_, collection_, probes(), 0, probes().sets, layout);
  std::unique_ptr<DeviceSignatureTable> partner_table;
  if (!spec_.self_join) {
    partner_table =
        std::make_unique<DeviceSignatureTable>(device_, collection_, partners(), 0, partners().sets, layout);
  }
  VerificationJob job = verification_job();
  job.probe_signatures = probe_table.view();
  job.partner_signatures = partner_table ? partner_table->view() : job.probe_signatures;
  job.check_signatures = true;
  open_window(0, border);
  double ms = 0;
  for (size_t i = 0; i < index.class_entries().size() && probes().classes[i].begin < border; ++i) {
    ms += entries_ms(static_cast<double>(index.class_entries()[i]), probes().classes[i].size);
  }
  const double visited = run_items(
      &job, items, first_items(static_cast<double>(items) / std::max(ms, 1e-6), device_.processors()),
      [&](uint64_t begin, uint64_t end) {
        launch_prefix_filter(device_, bounds_, collection_, spec_.self_join, index, entries,
                             job.probe_signatures, job.partner_signatures, begin, end, candidates_->view());
      });
  const std::lock_guard lock(mutex_);
  figures_.list_entries += visited * prefix_item_entries;
  stats_.used_prefix = true;
}

// Runs the items [0, items) by filter(begin, end), with `first` items in the first launch. A launch whose
// candidates do not fit is repeated with fewer items; those of one item always fit. Returns how many items
// ran, including repeats.
template <typename Filter>
double GpuJoin::run_items(const VerificationJob *job, uint64_t items, double first, Filter &&filter) {
  const uint64_t room = candidates_->pairs.size();
  double next = first, run = 0;
  for (uint64_t begin = 0; begin < items;) {
    const uint64_t end =
        next < static_cast<double>(items - begin) ? begin + static_cast<uint64_t>(next) : items;
    const FinishedLaunch done = run_batch(job, end - begin, [&] { filter(begin, end); });
    run += done.items;
    next = next_items(done, room);
    if (done.found <= room) begin = end;
  }
  return run;
}

// Counts shared tokens in inverted lists.
void GpuJoin::run_counting(IndexedPart part) {
  const auto begin = Clock::now();
  const CountingJoin join(device_, bounds_, collection_, spec_.self_join, part, *stop_);
  const double index_ms = milliseconds_since(begin);
  VerificationJob job = verification_job();
  const double entries = std::max(1.0, static_cast<double>(join.entries()));
  const double items = static_cast<double>(join.items());
  open_window(0, probes().sets);
  const double items_per_ms = std::min(counting_items_per_ms, items * counted_entries_per_ms / entries);
  run_items(join.exact() ? nullptr : &job, join.items(), first_items(items_per_ms, device_.processors()),
            [&](uint64_t first, uint64_t end) { join.launch_items(device_, first, end, *candidates_); });
  char text[200];
  std::snprintf(text, sizeof text, "%s asked for: %.3g list entries counted in shared memory, in %.0f parts",
                counting_name(options_.strategy), static_cast<double>(join.entries()), items);
  const std::lock_guard lock(mutex_);
  figures_.index_ms = index_ms;
  figures_.list_entries += entries;
  if (!join.exact()) stats_.after_prefix = figures_.candidates;
  stats_.reasons.push_back(text);
}

// Returns the border: the prefix index takes the probes before it, the bitmap filter those from it on.
// `index` gets an index if there are any probes before it. An index is built only if an estimate says that it
// pays.
uint32_t GpuJoin::choose_border(std::unique_ptr<DevicePrefixIndex> &index) {
  const std::vector<DeviceSizeClass> &classes = probes().classes;
  const auto strategy = options_.strategy;
  if (strategy == GpuOptions::Strategy::bitmap) return 0;
  const BitmapKernel kernel = kernel_for(device_, options_.bitmap_kernel);
  const std::vector<double> costs =
      bitmap_costs(bounds_, probes(), partners(), spec_.self_join, widths_, kernel);
  const double bitmap_ms = std::accumulate(costs.begin(), costs.end(), 0.0);
  BorderChoice choice;
  if (strategy == GpuOptions::Strategy::automatic) {
    if (bitmap_ms <= index_cost(0)) {
      explain("bitmap filter for all sets: an estimated " + std::to_string(bitmap_ms) + " ms");
      return 0;
    }
    const PrefixEstimate estimate = estimate_prefixes(device_, bounds_, collection_, spec_.self_join);
    stop_->check();
    choice = gpu::choose_border(probes(), estimate.entries, costs, index_cost(estimate.tokens));
    explain(choice.reason);
    if (choice.border == 0) return 0;
  }
  const auto begin = Clock::now();
  index = std::make_unique<DevicePrefixIndex>(device_, bounds_, collection_, spec_.self_join, *stop_);
  {
    const std::lock_guard lock(mutex_);
    figures_.index_ms = milliseconds_since(begin);
  }
  if (strategy == GpuOptions::Strategy::automatic) {
    const std::vector<double> entries(index->class_entries().begin(), index->class_entries().end());
    choice = gpu::choose_border(probes(), entries, costs, 0);
    explain("once the index was built: " + choice.reason);
  }
  if (strategy == GpuOptions::Strategy::prefix) choice.border = classes.size() - 1;
  if (strategy == GpuOptions::Strategy::mixed) choice.border = classes.size() / 2;
  return classes[choice.border].begin;
}

void GpuJoin::explain(std::string reason) {
  const std::lock_guard lock(mutex_);
  stats_.reasons.push_back(std::move(reason));
}

void GpuJoin::run_filters() {
  std::unique_ptr<DevicePrefixIndex> index;
  const uint32_t border = choose_border(index);
  if (border > 0) run_prefix(*index, border);
  index.reset();
  if (border >= probes().sets) return;
  for (const Range &range : bitmap_ranges(border)) run_bitmap(range);
}

void GpuJoin::run(PairSink &sink, const StopFlag &stop) {
  sink_ = &sink;
  stop_ = &stop;
  const auto begin = Clock::now();
  build();
  const auto built = Clock::now();
  sink.built(collection_);
  stop.check();
  if (!std::isnan(spec_.threshold) && probes().sets > 0 && partners().sets > 0) {
    uint64_t capacity = options_.candidate_capacity != 0 ? options_.candidate_capacity : default_candidates;
    capacity = std::max(least_item_pairs,
                        std::min<uint64_t>(capacity, device_.memory_left() / 4 / bytes_per_candidate));
    candidates_ = std::make_unique<CandidateBuffer>(device_, capacity);
    if (spec_.threshold <= 0) {
      run_everything();
    } else {
      count_compatible();
      if (const auto part = counted_part(options_.strategy)) {
        run_counting(*part);
      } else {
        run_filters();
      }
    }
  }
  const std::lock_guard lock(mutex_);
  stats_.algorithm = spec_.threshold <= 0              ? "all pairs"
                     : counted_part(options_.strategy) ? counting_name(options_.strategy)
                     : stats_.used_prefix              ? (stats_.used_bitmap ? "prefix + bitmap" : "prefix")
                                                       : "bitmap";
  if (spec_.threshold <= 0) stats_.after_length = stats_.pairs;
  stats_.filter_ms = figures_.filter_ms;
  stats_.verify_ms = figures_.verify_ms;
  stats_.join_ms = milliseconds_since(built);
  figures_.device_memory_peak = device_.memory_peak();
  figures_.total_ms = milliseconds_since(begin);
}

JoinStats GpuJoin::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

GpuFigures GpuJoin::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

}  // namespace simjoin::gpu
