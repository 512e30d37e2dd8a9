// Whether a GPU pays for a weighted join.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/device/gpu_attempt.hpp"
#include "core/weighted/weighted_bounds.hpp"
#include "core/weighted/weighted_sets.hpp"

namespace simjoin {

// The sets of a join in memory, as far as the choice depends on them.
struct WeightedLoad {
  const WeightedSets &index;                 // ordered by total
  const std::vector<WeightedBlock> *probes;  // null in a self-join
  uint32_t ranks;
  uint32_t largest_set;
};

// Returns about how many candidates the join has. Joins a sample of the sets.
double estimate_candidates(const WeightedLoad &load, const WeightedBounds &bounds, WorkerPool &pool,
                           MemoryCounter &memory);

// Chooses the device for the search (GpuAttempt::choose). A join that a GPU cannot do stays on the CPU, even
// if a GPU is demanded. The search has `pool.workers()` threads on the CPU.
bool choose_device(GpuAttempt &attempt, const WeightedLoad &load, const WeightedBounds &bounds,
                   WorkerPool &pool, MemoryCounter &memory);

}  // namespace simjoin
