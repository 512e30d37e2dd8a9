// What the weighted join has a GPU do: rule out the pairs that cannot qualify.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/weighted/weighted_bounds.hpp"
#include "core/weighted/weighted_sets.hpp"

namespace simjoin {

// Larger sets stay on the CPU: a comparison of two of them would hold up a GPU for too long to be cancelled.
inline constexpr uint32_t most_weighted_gpu_tokens = uint32_t{1} << 14;

// The sets of a join whose bounds exclude some pairs. No set has more tokens than the limit above.
struct WeightedProblem {
  const WeightedSets &index;   // ordered by total (order_by_total)
  const WeightedSets &probes;  // likewise; the index sets themselves in a self-join
  const WeightedBounds &bounds;
  bool self_join;        // a probe's partners come before it
  uint32_t ranks;        // every rank is below
  uint32_t largest_set;  // the tokens of the largest set
  size_t device_memory;  // that may be used, in bytes; 0 = most of the free memory
  WorkerPool &pool;
  MemoryCounter &memory;
};

// A pair of a probe and an index set, by number.
struct WeightedPair {
  uint32_t probe;
  uint32_t partner;
};

// What was found for the next probes.
struct WeightedFinds {
  uint32_t end = 0;                     // after the last of these probes
  std::span<const WeightedPair> pairs;  // that may qualify
  uint64_t compatible = 0;              // pairs of compatible totals
  uint64_t candidates = 0;              // pairs whose prefixes share a token, which were compared
  double kernel_ms = 0;
  std::string device;
  size_t memory_peak = 0;  // bytes of device memory, so far
};

class WeightedDevice {
 public:
  virtual ~WeightedDevice() = default;

  // Calls take(finds) for one run of probes after the other, until all probes have had their turn. Each pair
  // that qualifies is among the pairs, once. Others are few: they miss the threshold by no more than rounding
  // amounts to. Throws Error as engines on a GPU do, and Cancelled.
  virtual void find(const WeightedProblem &problem,
                    const std::function<void(const WeightedFinds &)> &take) = 0;
};

}  // namespace simjoin
