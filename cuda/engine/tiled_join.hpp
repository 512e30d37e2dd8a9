// A join as many joins of runs of its rows, for inputs that do not fit in a device's memory at once.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/worker_pool.hpp"
#include "core/handover/result_queue.hpp"
#include "core/join.hpp"
#include "core/sets/set_blocks.hpp"
#include "cuda/engine/gpu_engine.hpp"
#include "cuda/engine/gpu_join.hpp"
#include "cuda/engine/tile_pairs.hpp"

namespace simjoin::gpu {

// The sets of both sides in host memory, by row. A self-join has only a left side.
struct RecordedSides {
  std::vector<SharedBlock> blocks[2];
  std::vector<uint32_t> first_rows[2];  // by block
  uint64_t rows[2] = {0, 0};
  uint64_t tokens[2] = {0, 0};
  bool wide = false;

  void add(const SharedBlock &block);
  // Returns how many tokens a row has, including repeated ones.
  uint32_t length(size_t side, uint32_t row) const;
  // Returns the size of one join of all sets, with an estimate of its device memory.
  JoinSize size() const;
};

// Tiles are runs of rows with about the same number of tokens. Workers take pairs of tiles from a common list
// and join each by a GpuJoin of its own. Tiles that turn out too large are cut again. Every pair of rows
// belongs to one pair of tiles.
class TiledJoin {
 public:
  TiledJoin(const JoinSpec &spec, const GpuOptions &options, const RecordedSides &sides, int workers);

  // Runs the join and pushes its pairs to `queue`. Throws Cancelled.
  void run(ResultQueue &queue, const StopFlag &stop);

  // Safe to call while run() runs on another thread.
  JoinStats stats() const;
  GpuFigures figures() const;
  // Returns the share of the known pairs of tiles that are joined. Tiles that are cut again make more pairs.
  double share_done() const;
  // Returns the distinct tokens of a row, after a pair of that row was handed over.
  uint32_t set_size(Side side, uint32_t row) const;

 private:
  class Sink;

  void plan(double device_limit);
  size_t wait_for_memory(double wanted, const StopFlag &stop,
                         std::chrono::steady_clock::duration &waited) const;
  void work(int worker);
  bool take(TilePair &pair);
  void finish_pair();
  void join(const TilePair &pair);
  void add_rows(GpuJoin &join, Side side, Side of, TileRows rows) const;
  void merge(const GpuJoin &join);
  void note_sizes(const std::vector<uint32_t> &sizes, Side side, TileRows rows);
  void count_input();

  const JoinSpec spec_;
  GpuOptions options_;
  const size_t kept_memory_;  // bytes of each device's memory that the process keeps after the join
  const RecordedSides &sides_;
  const int workers_;
  // By row, accessed through atomic_ref, once a set turned out to have a token twice. Until then the sizes
  // are those of the recorded rows.
  std::vector<uint32_t> sizes_[2];
  std::atomic<bool> resized_[2] = {false, false};
  double planned_bytes_ = 0;  // device memory that a worker waits for
  ResultQueue *queue_ = nullptr;
  StopFlag stop_;  // of the workers

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<TilePair> pending_;  // the last one is next
  int busy_ = 0;                   // pairs being joined
  int running_ = 0;                // workers
  uint64_t joined_ = 0;            // pairs of tiles
  std::exception_ptr failure_;
  JoinStats stats_;
  GpuFigures figures_;
};

}  // namespace simjoin::gpu
