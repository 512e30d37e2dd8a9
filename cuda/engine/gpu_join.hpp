// The phases of a join on the device: upload while sets are added, then build, filter, verify, hand over.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/worker_pool.hpp"
#include "core/join.hpp"
#include "cuda/base/device.hpp"
#include "cuda/engine/compared_sets.hpp"
#include "cuda/engine/filter_launches.hpp"
#include "cuda/engine/gpu_engine.hpp"
#include "cuda/engine/join_report.hpp"
#include "cuda/engine/range_work.hpp"
#include "cuda/filters/pair_sink.hpp"
#include "cuda/filters/prefix_join.hpp"
#include "cuda/filters/published/counting_join.hpp"
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
  JoinStats stats() const { return report_.stats(); }
  GpuFigures figures() const { return report_.figures(); }
  // Returns the distinct tokens by row, after the first pair was handed over. Empty if no set had a token
  // twice.
  const std::vector<uint32_t> &set_sizes(Side side) const {
    return collection_.sizes[static_cast<int>(side)];
  }

 private:
  const DeviceSide &probes() const { return collection_.sides[0]; }
  const DeviceSide &partners() const { return collection_.sides[spec_.self_join ? 0 : 1]; }
  ComparedSets compared() const { return {bounds_, probes(), partners(), spec_.self_join}; }
  // The collection has to be built.
  RangeWork work() { return {spec_, options_, device_, collection_, compared(), *launches_, report_}; }
  void build();
  void run_everything();
  void run_filters(PairSink &sink);
  uint32_t choose_border(std::unique_ptr<DevicePrefixIndex> &index);
  void run_prefix(const DevicePrefixIndex &index, uint32_t border);
  void run_counting(IndexedPart part);

  const JoinSpec spec_;
  const GpuOptions options_;
  const Bounds bounds_;
  Device device_;
  SignatureWidths widths_;  // set when all sets have been added
  std::unique_ptr<UploadedSide> input_[2];
  DeviceCollection collection_;
  JoinReport report_;
  std::optional<FilterLaunches> launches_;  // set when the collection has been built
  const StopFlag *stop_ = nullptr;
};

}  // namespace simjoin::gpu
