// Sets with weights on the device, and inverted lists of their prefixes.
#pragma once

#include <cstdint>

#include "core/base/worker_pool.hpp"
#include "core/weighted/weighted_bounds.hpp"
#include "core/weighted/weighted_index.hpp"
#include "core/weighted/weighted_sets.hpp"
#include "cuda/base/device.hpp"

namespace simjoin::gpu {

// Threads that share a set or a pair of sets. Not tuned.
inline constexpr uint32_t weighted_lanes = 8;

// The arrays of WeightedSets in device memory, and beside each token the mass of it and those after it.
struct WeightedView {
  uint32_t sets;
  const uint64_t *starts;
  const double *totals;
  const uint32_t *ranks;
  const float *floats;
  const double *doubles;  // in place of the floats; null if there are none
  const double *rests;

#ifdef __CUDACC__
  __device__ double weight(uint64_t token) const {
    return doubles != nullptr ? doubles[token] : static_cast<double>(floats[token]);
  }
#endif
};

class DeviceWeightedSets {
 public:
  // Copies the sets to the device. Throws Cancelled.
  DeviceWeightedSets(Device &device, const WeightedSets &sets, const WeightedBounds &bounds,
                     WorkerPool &pool);

  WeightedView view() const {
    return {static_cast<uint32_t>(totals_.size()),
            starts_.data(),
            totals_.data(),
            ranks_.data(),
            floats_.data(),
            doubles_.data(),
            rests_.data()};
  }

 private:
  DeviceBuffer<uint64_t> starts_;
  DeviceBuffer<double> totals_;
  DeviceBuffer<uint32_t> ranks_;
  DeviceBuffer<float> floats_;
  DeviceBuffer<double> doubles_;
  DeviceBuffer<double> rests_;
};

// The twin of WeightedIndex.
class WeightedLists {
 public:
  // Every rank is below `ranks`.
  WeightedLists(Device &device, const WeightedView &sets, const WeightedBounds &bounds, uint32_t ranks,
                const StopFlag &stop);

  // Returns the postings by rank, then by set. Those of a rank are [starts[rank], starts[rank + 1]).
  const WeightedPosting *postings() const { return postings_.data(); }
  const uint64_t *starts() const { return starts_.data(); }

 private:
  DeviceBuffer<WeightedPosting> postings_;
  DeviceBuffer<uint64_t> starts_;
};

}  // namespace simjoin::gpu
