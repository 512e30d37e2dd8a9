// Launches of a filter, each followed by the verification of its candidates, in sizes that keep a cancel
// short.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/worker_pool.hpp"
#include "cuda/base/device.hpp"
#include "cuda/base/launch_size.hpp"
#include "cuda/base/page_locked.hpp"
#include "cuda/engine/join_report.hpp"
#include "cuda/filters/candidates.hpp"
#include "cuda/filters/pair_sink.hpp"
#include "cuda/filters/result_fetch.hpp"
#include "cuda/filters/verification.hpp"
#include "cuda/sets/collection.hpp"

namespace simjoin::gpu {

// What a run of items came to.
struct ItemRun {
  double run = 0;    // items that ran, including repeats
  uint64_t end = 0;  // the first item that did not run
};

class FilterLaunches {
 public:
  // Candidates take up to a quarter of the device memory that is left; `capacity` candidates, unless it is 0.
  FilterLaunches(Device &device, uint64_t capacity, PairSink &sink, const StopFlag &stop, JoinReport &report);

  CandidateBuffer &candidates() { return candidates_; }
  // Returns the number of candidates of one launch that fit.
  uint64_t room() const { return candidates_.pairs.size(); }
  // Sets the first number of candidates to verify, for probes [begin, end). It assumes sets of the size to
  // which the middle one of their tokens belongs, roughly.
  void open_window(const DeviceSide &probes, uint32_t begin, uint32_t end);
  // Runs the items [0, items) by filter(begin, end), with `first` items in the first launch. Verifies the
  // candidates of each launch by `job` and hands the pairs over. If `job` is null, the candidates are
  // results. A launch whose candidates do not fit is repeated with fewer items; those of one item always fit.
  // The pairs of a launch are handed over while the next one runs, so those of the last one wait until
  // hand_over(). Stops at a launch in which more than `most_groups` groups passed. Throws Cancelled.
  template <typename Filter>
  ItemRun run(const VerificationJob *job, uint64_t items, double first, Filter &&filter,
              uint64_t most_groups = UINT64_MAX) {
    ItemRun ran;
    for (double next = first; ran.end < items;) {
      const uint64_t begin = ran.end;
      const uint64_t end =
          next < static_cast<double>(items - begin) ? begin + static_cast<uint64_t>(next) : items;
      const FinishedLaunch done = run_batch(job, end - begin, [&] { filter(begin, end); });
      ran.run += done.items;
      next = next_items(done, room());
      if (done.groups > most_groups) break;
      if (done.found <= room()) ran.end = end;
    }
    return ran;
  }
  // Runs one such launch of `items` items by filter(). Returns the filter's work and time. After an overflow
  // of the candidates it verifies nothing.
  template <typename Filter>
  FinishedLaunch run_batch(const VerificationJob *job, uint64_t items, Filter &&filter) {
    begin_batch();
    filter();
    return end_batch(job, items);
  }

  // Hands over the pairs that wait, after the last run and otherwise beside a launch.
  void hand_over();

 private:
  void begin_batch();
  FinishedLaunch end_batch(const VerificationJob *job, uint64_t items);
  double verify_rest(const VerificationJob &job, uint64_t candidates, double first_ms);
  void note_launch(double ms);

  Device &device_;
  PairSink &sink_;
  const StopFlag &stop_;
  JoinReport &report_;
  CandidateBuffer candidates_;
  // The results of the launch before, which wait to be handed over, and their number.
  ResultColumns waiting_;
  uint64_t waiting_results_ = 0;
  PinnedBuffer<PairCounters> counters_;
  ResultFetcher fetcher_;
  Event begin_, filtered_, verified_;
  double window_ = 1;  // candidates that one launch verifies
};

}  // namespace simjoin::gpu
