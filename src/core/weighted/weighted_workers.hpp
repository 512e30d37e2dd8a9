// The workers of a weighted join: what each of them keeps while one part of the index side is joined after
// the other.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
#include "core/handover/join_counters.hpp"
#include "core/handover/result_queue.hpp"
#include "core/weighted/weighted_bounds.hpp"
#include "core/weighted/weighted_index.hpp"
#include "core/weighted/weighted_search.hpp"
#include "core/weighted/weighted_sets.hpp"

namespace simjoin {

class WeightedWorkers {
 public:
  // Called with what a worker has counted since its last call, and with the number of pairs of compatible
  // totals among that. Any worker calls it.
  using Count = std::function<void(const JoinCounters &, uint64_t compatible)>;

  // `swap`: the probes are the right side. `demand` is null if every pair is wanted.
  WeightedWorkers(const WeightedBounds &bounds, bool self_join, bool swap, WantedPairs *demand,
                  ResultQueue &queue, WorkerPool &pool, MemoryCounter &memory, Count count);

  // Joins the index with all sets of the blocks. Those in the file are probed block by block.
  void join(const WeightedIndex &index, const std::vector<WeightedBlock> &blocks, const SpillFile *file);
  // Joins the index with the probes from `first` on, the heaviest ones first if they are ordered.
  void join(const WeightedIndex &index, const WeightedSets &probes, uint32_t first);
  // Hands over those of the pairs that qualify. They count as verified before.
  void verify(const WeightedSets &probes, const WeightedSets &partners, std::span<const WeightedPair> pairs);
  // Hands over what the workers have left.
  void flush();

 private:
  using Clock = std::chrono::steady_clock;

  // The state of one thread, in cache lines of its own.
  struct alignas(64) Worker {
    ResultWriter writer;
    WeightedSearch search;
    JoinCounters counters;
    Clock::time_point flushed;
  };

  void search(Worker &worker, const WeightedSets &probes, uint32_t begin, uint32_t end);
  void end_item(Worker &worker, uint64_t compatible_before);

  WorkerPool &pool_;
  MemoryCounter &memory_;
  const Count count_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace simjoin
