#include "cuda/gpu_join.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>

#include "core/error.hpp"

namespace simjoin::gpu {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Candidates that one launch can leave, unless memory is short.
constexpr uint64_t default_candidates = uint64_t{8} << 20;
constexpr size_t bytes_a_candidate = sizeof(Candidate) + 3 * sizeof(uint32_t);
// A launch compares at most so many pairs of one step: about 20 ms on an H200, so that a cancelled join ends
// soon. The first launch is smaller and shows how many candidates to expect.
constexpr double most_pairs_a_launch = 1.5e11;
constexpr double first_pairs_a_launch = 4e10;
constexpr double candidate_target = 0.5;  // of the capacity, for the next launch
// The same for list entries of the prefix index.
constexpr double most_entries_a_launch = 2e9;
constexpr double first_entries_a_launch = 2.5e8;
// What the two strategies do in a millisecond, measured on an H200; and what building a prefix index takes.
constexpr double bitmap_pairs_a_ms = 4e9;
constexpr double list_entries_a_ms = 5e7;
// An entry of longer sets costs more, growing with the square of the size: twice as much at this one.
constexpr double list_entry_size = 64;
// Signatures tell sets of up to this size apart badly; their pairs cost so many times as much.
constexpr uint32_t tiny_size = 8;
constexpr double tiny_factor = 3;
constexpr double index_ms = 2;
// Pairs handed to the caller at a time, and fetched from the device at a time.
constexpr size_t batch_pairs = size_t{1} << 15;
constexpr size_t fetch_pairs = size_t{1} << 18;

// Average sizes up to which so wide signatures filter well; measured on DBLP-shaped sets.
SignatureWidths widths_for(const JoinSpec &spec) {
  SignatureWidths widths;
  const double t = spec.measure == Measure::overlap ? 0.5 : spec.threshold;
  widths.base = t >= 0.85 ? 300 : t >= 0.65 ? 140 : 70;
  return widths;
}

}  // namespace

GpuJoin::GpuJoin(const JoinSpec &spec, const GpuOptions &options)
    : spec_(spec),
      options_(options),
      bounds_(spec.measure, spec.threshold),
      device_(options.memory_limit, options.kept_memory),
      widths_(widths_for(spec)),
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
  const double upload = milliseconds_since(begin);
  begin = Clock::now();
  collection_ = build_collection(device_, input_[0].get(), input_[1].get(), widths_);
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

// One range of probes for each signature width, with all partners that these can have. The pairs of sets
// before the border are left out: of the later set in a self-join, else of the left one.
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
                              [](uint32_t number, const SizeClass &c) { return number < c.begin; })[-1]
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
  return {bounds_, collection_.ranks.data(), probes().records.data(), partners().records.data(), {}, {},
          false,   spec_.threshold <= 0,     spec_.self_join};
}

// Runs one filter launch and the verification of what it leaves; hands the pairs over and returns how many
// candidates there were. Where there were too many to keep, that is all it does.
template <typename Filter>
uint64_t GpuJoin::run_batch(const VerificationJob &job, Filter &&filter) {
  stop_->check();
  candidates_->counters.fill(0);
  begin_.record(device_.stream());
  filter(candidates_->view());
  filtered_.record(device_.stream());
  launch_verification(device_, job, *candidates_);
  verified_.record(device_.stream());
  copy_to_host(device_, counters_.data(), candidates_->counters.data(), 1);
  device_.synchronize();
  const PairCounters found = counters_[0];
  const bool fits = found.candidates <= candidates_->pairs.size();
  {
    const std::lock_guard lock(mutex_);
    figures_.filter_ms += filtered_.since(begin_);
    figures_.verify_ms += verified_.since(filtered_);
    figures_.device_memory_peak = device_.memory_peak();
    if (fits) {
      figures_.candidates += found.candidates;
      stats_.after_bitmap += found.verified;
      stats_.verified += found.verified;
    } else {
      ++figures_.launches_repeated;
    }
  }
  if (fits) hand_over(found.results);
  return found.candidates;
}

// Fetches the results and pushes them to the queue.
void GpuJoin::hand_over(uint64_t results) {
  const auto begin = Clock::now();
  for (uint64_t done = 0; done < results;) {
    const size_t count = std::min<uint64_t>(fetch_pairs, results - done);
    if (staging_.size() < 3 * count) staging_ = PinnedBuffer<uint32_t>(3 * std::min(fetch_pairs, 2 * count));
    uint32_t *columns[3] = {staging_.data(), staging_.data() + count, staging_.data() + 2 * count};
    copy_to_host(device_, columns[0], candidates_->left.data() + done, count);
    copy_to_host(device_, columns[1], candidates_->right.data() + done, count);
    copy_to_host(device_, columns[2], candidates_->overlap.data() + done, count);
    device_.synchronize();
    for (size_t i = 0; i < count; i += batch_pairs) {
      const size_t end = std::min(count, i + batch_pairs);
      Batch batch;
      batch.left.assign(columns[0] + i, columns[0] + end);
      batch.right.assign(columns[1] + i, columns[1] + end);
      batch.overlap.assign(columns[2] + i, columns[2] + end);
      queue_->push(batch);
    }
    done += count;
  }
  const std::lock_guard lock(mutex_);
  stats_.output += results;
  figures_.download_ms += milliseconds_since(begin);
}

// Hands over every pair there is.
void GpuJoin::run_everything() {
  const VerificationJob job = verification_job();
  const uint64_t pairs = uint64_t{probes().sets} * partners().sets;
  for (uint64_t begin = 0; begin < pairs;) {
    const uint64_t end = std::min(pairs, begin + candidates_->pairs.size());
    run_batch(job, [&](const CandidateView &out) {
      launch_enumeration(device_, begin, end, partners().sets, spec_.self_join, out);
    });
    begin = end;
  }
}

// Compares all pairs of a range by their signatures. A launch whose candidates do not fit is repeated with
// half the items; capacity for one item is checked beforehand.
void GpuJoin::run_bitmap(const Range &range) {
  const SignatureLayout layout = collection_.layout(range.steps);
  const PlanRange &plan_range = range.plan;
  const TilePlan plan = plan_tiles(bounds_, probes(), partners(), spec_.self_join, plan_range,
                                   device_.processors(), candidates_->pairs.size());
  if (plan.items == 0) return;
  const uint32_t probe_end =
      spec_.self_join ? std::max(plan_range.end, plan_range.partner_end) : plan_range.end;
  const SignatureTable probe_table(device_, collection_, probes(), plan_range.begin,
                                   probe_end - plan_range.begin, layout);
  std::unique_ptr<SignatureTable> partner_table;
  if (!spec_.self_join) {
    partner_table =
        std::make_unique<SignatureTable>(device_, collection_, partners(), plan_range.partner_begin,
                                         plan_range.partner_end - plan_range.partner_begin, layout);
  }
  DeviceBuffer<ProbeTile> tiles(device_, plan.tiles.size());
  copy_to_device(device_, tiles.data(), plan.tiles.data(), plan.tiles.size());
  VerificationJob job = verification_job();
  job.probe_signatures = probe_table.view();
  job.partner_signatures = partner_table ? partner_table->view() : job.probe_signatures;
  job.probe_signatures.sets = plan_range.end - plan_range.begin;
  job.check_signatures = true;
  const double cost = plan.pairs_an_item() * range.steps;
  const double compared =
      run_items(job, plan.items, {first_pairs_a_launch / cost, most_pairs_a_launch / cost},
                [&](uint32_t begin, uint32_t end, const CandidateView &out) {
                  launch_filter(device_, bounds_, job.probe_signatures, job.partner_signatures, tiles,
                                plan.segment, begin, end, spec_.self_join, plan_range.partner_from, out);
                });
  const std::lock_guard lock(mutex_);
  figures_.filter_pairs += compared * plan.pairs_an_item();
  figures_.filter_bit_pairs += compared * plan.pairs_an_item() * range.steps * step_bits;
  stats_.used_bitmap = true;
}

// Visits the lists of the prefixes of the probes before the border.
void GpuJoin::run_prefix(const PrefixIndex &index, uint32_t border) {
  const uint64_t entries = index.entries_before(device_, border);
  if (entries == 0) return;
  const auto items = static_cast<uint32_t>((entries + prefix_item_entries - 1) / prefix_item_entries);
  const SignatureLayout layout = collection_.layout(prefix_signature_steps);
  const SignatureTable probe_table(device_, collection_, probes(), 0, probes().sets, layout);
  std::unique_ptr<SignatureTable> partner_table;
  if (!spec_.self_join) {
    partner_table =
        std::make_unique<SignatureTable>(device_, collection_, partners(), 0, partners().sets, layout);
  }
  VerificationJob job = verification_job();
  job.probe_signatures = probe_table.view();
  job.partner_signatures = partner_table ? partner_table->view() : job.probe_signatures;
  job.check_signatures = true;
  const double visited = run_items(
      job, items, {first_entries_a_launch / prefix_item_entries, most_entries_a_launch / prefix_item_entries},
      [&](uint32_t begin, uint32_t end, const CandidateView &out) {
        launch_prefix_filter(device_, bounds_, collection_, spec_.self_join, index, entries,
                             job.probe_signatures, job.partner_signatures, begin, end, out);
      });
  const std::lock_guard lock(mutex_);
  figures_.list_entries += visited * prefix_item_entries;
  stats_.used_prefix = true;
}

// A launch whose candidates do not fit is repeated with fewer items; those of one item always fit. Returns
// how many items ran, repeats included.
template <typename Filter>
double GpuJoin::run_items(const VerificationJob &job, uint32_t items, const LaunchSizes &sizes,
                          Filter &&filter) {
  const double capacity = static_cast<double>(candidates_->pairs.size());
  const double most = std::max(1.0, sizes.most);
  double next = std::clamp(sizes.first, 1.0, most), run = 0;
  for (uint32_t begin = 0; begin < items;) {
    const auto end = static_cast<uint32_t>(std::min<double>(items, begin + std::floor(next)));
    const uint64_t found = run_batch(job, [&](const CandidateView &out) { filter(begin, end, out); });
    const double used = end - begin;
    run += used;
    const double share = candidate_target * capacity / std::max(1.0, static_cast<double>(found));
    next = std::clamp(used * std::min(share, 4.0), 1.0, most);
    if (found <= candidates_->pairs.size()) begin = end;
  }
  return run;
}

std::vector<double> GpuJoin::bitmap_costs() const {
  const std::vector<SizeClass> &classes = probes().classes;
  std::vector<double> costs(classes.size() - 1, 0);
  if (partners().sets == 0) return costs;
  const int64_t largest = partners().classes.end()[-2].size;
  for (size_t i = 0; i < costs.size(); ++i) {
    const uint32_t size = classes[i].size;
    const double sets = classes[i + 1].begin - classes[i].begin;
    const uint32_t first =
        partners().lower_bound(static_cast<uint64_t>(std::max<int64_t>(1, bounds_.min_partner(size))));
    const uint32_t end =
        spec_.self_join
            ? classes[i + 1].begin
            : partners().lower_bound(static_cast<uint64_t>(bounds_.max_partner(size, largest)) + 1);
    if (size == 0 || first >= end) continue;
    const double pairs = sets * (end - first) * (spec_.self_join && first == classes[i].begin ? 0.5 : 1);
    const double factor = size <= tiny_size ? tiny_factor : 1;
    costs[i] = pairs * factor * SignatureWidths::steps(widths_.width_of(size)) / bitmap_pairs_a_ms;
  }
  return costs;
}

// Returns the set before which the prefix index is estimated to be faster, and from which on the bitmap
// filter is.
uint32_t GpuJoin::choose_border(const PrefixIndex &index, const std::vector<double> &bitmap_ms) {
  const std::vector<SizeClass> &classes = probes().classes;
  double bitmap = 0, prefix = 0;
  for (double cost : bitmap_ms) bitmap += cost;
  const double all_bitmap = bitmap;
  double best = bitmap, best_prefix = 0, best_bitmap = bitmap;
  size_t border = 0;
  for (size_t i = 0; i + 1 < classes.size(); ++i) {
    const double scale = classes[i].size / list_entry_size;
    prefix += static_cast<double>(index.class_entries()[i]) * (1 + scale * scale) / list_entries_a_ms;
    bitmap -= bitmap_ms[i];
    if (prefix + bitmap < best) {
      best = prefix + bitmap;
      best_prefix = prefix;
      best_bitmap = bitmap;
      border = i + 1;
    }
  }
  if (options_.strategy == GpuOptions::Strategy::prefix) border = classes.size() - 1;
  if (options_.strategy == GpuOptions::Strategy::mixed) border = classes.size() / 2;
  const std::string part = border == 0 ? "no set"
                           : border + 1 == classes.size()
                               ? "all sets"
                               : "sets of fewer than " + std::to_string(classes[border].size) + " tokens";
  char text[200];
  std::snprintf(
      text, sizeof text,
      "prefix index for %s, bitmap filter for the others: an estimated %.1f + %.1f ms, against %.1f "
      "for bitmaps alone",
      part.c_str(), best_prefix, best_bitmap, all_bitmap);
  const std::lock_guard lock(mutex_);
  stats_.reasons.push_back(text);
  return classes[border].begin;
}

void GpuJoin::run_filters() {
  count_compatible();
  const auto strategy = options_.strategy;
  const std::vector<double> costs = bitmap_costs();
  double bitmap_ms = 0;
  for (double cost : costs) bitmap_ms += cost;
  uint32_t border = 0;
  if (strategy == GpuOptions::Strategy::prefix || strategy == GpuOptions::Strategy::mixed ||
      (strategy == GpuOptions::Strategy::automatic && bitmap_ms > index_ms)) {
    const auto begin = Clock::now();
    const PrefixIndex index(device_, bounds_, collection_, spec_.self_join);
    {
      const std::lock_guard lock(mutex_);
      figures_.index_ms = milliseconds_since(begin);
    }
    border = choose_border(index, costs);
    if (border > 0) run_prefix(index, border);
  }
  if (border >= probes().sets) return;
  for (const Range &range : bitmap_ranges(border)) run_bitmap(range);
}

void GpuJoin::run(PairSink &sink, const StopFlag &stop) {
  queue_ = &sink;
  stop_ = &stop;
  const auto begin = Clock::now();
  build();
  const auto built = Clock::now();
  sink.built(collection_);
  stop.check();
  if (!std::isnan(spec_.threshold) && probes().sets > 0 && partners().sets > 0) {
    uint64_t capacity = options_.candidate_capacity != 0 ? options_.candidate_capacity : default_candidates;
    capacity = std::max(least_item_pairs,
                        std::min<uint64_t>(capacity, device_.memory_left() / 4 / bytes_a_candidate));
    candidates_ = std::make_unique<CandidateBuffer>(device_, capacity);
    if (spec_.threshold <= 0) {
      run_everything();
    } else {
      run_filters();
    }
  }
  const std::lock_guard lock(mutex_);
  stats_.algorithm = spec_.threshold <= 0 ? "all pairs"
                     : stats_.used_prefix ? (stats_.used_bitmap ? "prefix + bitmap" : "prefix")
                                          : "bitmap";
  if (spec_.threshold <= 0) stats_.after_length = stats_.pairs;
  stats_.filter_ms = figures_.filter_ms;
  stats_.verify_ms = figures_.verify_ms;
  stats_.join_ms = milliseconds_since(built);
  figures_.device_memory_peak = device_.memory_peak();
  figures_.total_ms = milliseconds_since(begin);
}

void GpuJoin::add_to(JoinStats &stats) const {
  const std::lock_guard lock(mutex_);
  stats = stats_;
}

GpuFigures GpuJoin::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

}  // namespace simjoin::gpu
