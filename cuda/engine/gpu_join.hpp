// The phases of a join on the device: upload while sets are added, then build, filter, verify, hand over.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/base/worker_pool.hpp"
#include "core/join.hpp"
#include "cuda/base/device.hpp"
#include "cuda/base/launch_size.hpp"
#include "cuda/base/page_locked.hpp"
#include "cuda/engine/gpu_engine.hpp"
#include "cuda/filters/bitmap/bitmap_filter.hpp"
#include "cuda/filters/candidates.hpp"
#include "cuda/filters/pair_sink.hpp"
#include "cuda/filters/prefix_join.hpp"
#include "cuda/filters/published/counting_join.hpp"
#include "cuda/filters/result_fetch.hpp"
#include "cuda/filters/verification.hpp"
#include "cuda/sets/collection.hpp"
#include "cuda/sets/upload.hpp"

namespace simjoin::gpu {

// Returns an estimate of the least device memory of a join: its peak for each token and row.
double join_device_bytes(uint64_t tokens, uint64_t rows, bool wide);

class GpuJoin {
 public:
  GpuJoin(const JoinSpec &spec, const GpuOptions &options);

  // Makes room on the device for all rows of a side, if their number is known.
  void reserve(Side side, uint64_t token_bytes, uint64_t rows);
  // Adds the next rows of a side. They are a slice of `block`, and are uploaded from its memory.
  void add(Side side, const SharedBlock &block, const SetSlice &slice);
  // Runs the join after all rows were added, and pushes its pairs to `sink`. Throws Cancelled.
  void run(PairSink &sink, const StopFlag &stop);

  // Returns the bytes of device memory that the join may use.
  size_t memory_limit() const { return device_.memory_limit(); }

  // Safe to call while run() runs on another thread.
  JoinStats stats() const;
  GpuFigures figures() const;
  // Returns the distinct tokens by row, after the first pair was handed over. Empty if no set had a token
  // twice.
  const std::vector<uint32_t> &set_sizes(Side side) const {
    return collection_.sizes[static_cast<int>(side)];
  }

 private:
  // Probes of one signature width and all their possible partners, with that width.
  struct Range {
    PlanRange plan;
    uint32_t steps;
  };

  const DeviceSide &probes() const { return collection_.sides[0]; }
  const DeviceSide &partners() const { return collection_.sides[spec_.self_join ? 0 : 1]; }
  void build();
  void count_compatible();
  std::vector<Range> bitmap_ranges(uint32_t border) const;
  void run_everything();
  void run_filters();
  void run_bitmap(const Range &range);
  uint32_t choose_border(std::unique_ptr<DevicePrefixIndex> &index);
  void explain(std::string reason);
  void run_prefix(const DevicePrefixIndex &index, uint32_t border);
  void run_counting(IndexedPart part);
  template <typename Filter>
  double run_items(const VerificationJob *job, uint64_t items, double first, Filter &&filter);
  VerificationJob verification_job() const;
  void open_window(uint32_t begin, uint32_t end);
  template <typename Filter>
  FinishedLaunch run_batch(const VerificationJob *job, uint64_t items, Filter &&filter);
  void note_launch(double ms);
  double verify_rest(const VerificationJob &job, uint64_t candidates, double first_ms);
  void hand_over(uint64_t results);

  const JoinSpec spec_;
  const GpuOptions options_;
  const Bounds bounds_;
  Device device_;
  SignatureWidths widths_;  // set when all sets have been added
  std::unique_ptr<UploadedSide> input_[2];
  DeviceCollection collection_;
  std::unique_ptr<CandidateBuffer> candidates_;
  PinnedBuffer<PairCounters> counters_;
  ResultFetcher fetcher_;
  Event begin_, filtered_, verified_;
  double window_ = 1;  // candidates that one launch verifies
  PairSink *sink_ = nullptr;
  const StopFlag *stop_ = nullptr;

  mutable std::mutex mutex_;  // guards the members below
  JoinStats stats_;
  GpuFigures figures_;
};

}  // namespace simjoin::gpu
