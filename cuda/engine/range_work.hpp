// The comparison of ranges of probes with their partners by signatures, on one GPU.
#pragma once

#include "core/join.hpp"
#include "cuda/base/device.hpp"
#include "cuda/engine/compared_sets.hpp"
#include "cuda/engine/filter_launches.hpp"
#include "cuda/engine/gpu_engine.hpp"
#include "cuda/engine/join_report.hpp"
#include "cuda/filters/verification.hpp"
#include "cuda/sets/collection.hpp"

namespace simjoin::gpu {

// What a GPU's filters work with: the sets in its memory, and its launches.
struct RangeWork {
  const JoinSpec &spec;
  const GpuOptions &options;
  Device &device;
  const DeviceCollection &collection;
  const ComparedSets sets;
  FilterLaunches &launches;
  JoinReport &report;

  // Returns the verification of candidates without signatures.
  VerificationJob verification_job() const;
  // Compares the probes of a range with their partners. The pairs of the last launch wait for
  // FilterLaunches::hand_over(). Throws Cancelled.
  void compare(const BitmapRange &range) const;
};

}  // namespace simjoin::gpu
