#include "cuda/engine/filter_launches.hpp"

#include <algorithm>
#include <utility>

#include "core/base/wall_clock.hpp"
#include "cuda/base/tuning.hpp"
#include "cuda/filters/bitmap/bitmap_filter.hpp"

namespace simjoin::gpu {
namespace {

using namespace tuning;

// Candidates of one launch, unless memory is short.
constexpr uint64_t default_candidates = uint64_t{8} << 20;
// Two sets of result columns, and the list of long pairs.
constexpr size_t bytes_per_candidate = sizeof(Candidate) + (2 * 3 + 1) * sizeof(uint32_t);

uint64_t capacity_on(const Device &device, uint64_t wanted) {
  const uint64_t capacity = wanted != 0 ? wanted : default_candidates;
  return std::max(least_item_pairs,
                  std::min<uint64_t>(capacity, device.memory_left() / 4 / bytes_per_candidate));
}

}  // namespace

FilterLaunches::FilterLaunches(Device &device, uint64_t capacity, PairSink &sink, const StopFlag &stop,
                               JoinReport &report)
    : device_(device),
      sink_(sink),
      stop_(stop),
      report_(report),
      candidates_(device, capacity_on(device, capacity)),
      waiting_(device, candidates_.pairs.size()),
      counters_(1) {}

void FilterLaunches::open_window(const DeviceSide &probes, uint32_t begin, uint32_t end) {
  double tokens = 0, squares = 0;
  for (size_t i = 0; i + 1 < probes.classes.size(); ++i) {
    const uint32_t first = std::max(begin, probes.classes[i].begin);
    const uint32_t last = std::min(end, probes.classes[i + 1].begin);
    if (first >= last) continue;
    const double size = probes.classes[i].size;
    tokens += size * (last - first);
    squares += size * size * (last - first);
  }
  const double pair_tokens = verified_pair_tokens + 2 * squares / std::max(1.0, tokens);
  window_ = first_items(verified_tokens_per_ms / pair_tokens, device_.processors());
}

void FilterLaunches::begin_batch() {
  stop_.check();
  candidates_.counters.fill(0);
  begin_.record(device_.stream());
}

FinishedLaunch FilterLaunches::end_batch(const VerificationJob *job, uint64_t items) {
  filtered_.record(device_.stream());
  if (job != nullptr) launch_verification(device_, *job, candidates_, 0, static_cast<uint64_t>(window_));
  verified_.record(device_.stream());
  copy_to_host(device_, counters_.data(), candidates_.counters.data(), 1);
  hand_over();
  device_.synchronize();
  const double filter_ms = filtered_.since(begin_);
  double verify_ms = verified_.since(filtered_);
  note_launch(filter_ms);
  const bool fits = counters_[0].candidates <= candidates_.pairs.size();
  if (job != nullptr && fits) verify_ms = verify_rest(*job, counters_[0].candidates, verify_ms);
  PairCounters found = counters_[0];
  if (job == nullptr) found.results = found.verified = found.candidates;
  report_.update([&](JoinStats &stats, GpuFigures &figures) {
    figures.filter_ms += filter_ms;
    figures.verify_ms += verify_ms;
    figures.device_memory_peak = std::max(figures.device_memory_peak, device_.memory_peak());
    if (fits) {
      figures.candidates += found.candidates;
      if (job != nullptr && job->check_signatures) stats.after_bitmap += found.verified;
      stats.verified += found.verified;
    } else {
      ++figures.launches_repeated;
    }
  });
  if (fits) {
    std::swap(candidates_.results, waiting_);
    waiting_results_ = found.results;
  }
  // After an overflow, the filter may have ended before its last item.
  const bool all = fits || found.next_item == 0;
  const uint64_t taken = all ? items : std::min<uint64_t>(items, found.next_item);
  return {static_cast<double>(taken), filter_ms, found.candidates, counters_[0].groups};
}

// Verifies the candidates after the window that was verified together with the filter in `first_ms`. Returns
// the milliseconds of all verification. The counters are on the host at the end.
double FilterLaunches::verify_rest(const VerificationJob &job, uint64_t candidates, double first_ms) {
  double sum = first_ms, ms = first_ms;
  for (uint64_t done = 0;;) {
    note_launch(ms);
    const uint64_t verified = std::min<uint64_t>(candidates - done, static_cast<uint64_t>(window_));
    window_ = std::min(next_window({static_cast<double>(verified), ms}, window_),
                       static_cast<double>(candidates_.pairs.size()));
    done += verified;
    if (done >= candidates) return sum;
    stop_.check();
    filtered_.record(device_.stream());
    launch_verification(device_, job, candidates_, done, done + static_cast<uint64_t>(window_));
    verified_.record(device_.stream());
    copy_to_host(device_, counters_.data(), candidates_.counters.data(), 1);
    device_.synchronize();
    ms = verified_.since(filtered_);
    sum += ms;
  }
}

// Records the longest launch.
void FilterLaunches::note_launch(double ms) {
  report_.update([&](JoinStats &, GpuFigures &figures) {
    figures.longest_launch_ms = std::max(figures.longest_launch_ms, ms);
  });
}

void FilterLaunches::hand_over() {
  const uint64_t results = std::exchange(waiting_results_, 0);
  if (results == 0) return;
  const auto begin = WallClock::now();
  fetcher_.fetch(waiting_, results, [this](Batch &batch) { sink_.push(batch); });
  report_.update([&](JoinStats &stats, GpuFigures &figures) {
    stats.output += results;
    figures.download_ms += milliseconds_since(begin);
  });
}

}  // namespace simjoin::gpu
