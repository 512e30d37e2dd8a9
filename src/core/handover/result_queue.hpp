// From the workers to the caller: a bounded queue of result batches, and each worker's end of it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "core/base/check.hpp"
#include "core/base/worker_pool.hpp"
#include "core/handover/wanted_pairs.hpp"
#include "core/join.hpp"

namespace simjoin {

// Batches on their way to the caller. Producers wait while the queue is full, so a caller that stops early
// costs little.
class ResultQueue {
 public:
  // With capacity 0 no thread ever waits, for a join within the caller's own thread.
  ResultQueue(size_t capacity, const StopFlag &stop) : capacity_(capacity), stop_(stop) {}

  // Hands the pairs over and leaves `batch` empty. Throws Cancelled if the join is abandoned meanwhile.
  void push(Batch &batch);
  // Swaps the next batch into `out` and returns true. Waits for a batch up to `wait`, or until the end.
  bool pop(Batch &out, std::chrono::microseconds wait);
  // Waits until the caller has looked at all batches pushed so far: it has come back after the last of them.
  // Throws Cancelled if the join is abandoned meanwhile.
  void settle();
  // Returns whether producers run beside the caller, so that they may wait for it.
  bool bounded() const { return capacity_ > 0; }
  // Marks the end: no more batches will come.
  void finish();
  // Wakes all threads that wait for the caller, after the stop flag was set.
  void wake();
  // Returns whether the end is reached and every batch was taken.
  bool drained() const;

 private:
  const size_t capacity_;
  const StopFlag &stop_;
  mutable std::mutex mutex_;
  std::condition_variable not_full_;
  std::condition_variable not_empty_;
  std::condition_variable settled_;
  std::deque<Batch> batches_;
  std::vector<Batch> spare_;  // emptied batches, for their storage
  uint64_t pushed_ = 0;       // batches
  uint64_t looked_at_ = 0;    // batches that the caller had taken when it came last
  uint64_t taken_ = 0;
  bool finished_ = false;
};

// Hands over the pairs of one worker, with left and right in their places.
class ResultWriter {
 public:
  // Pairs are (probe row, index row). `swap`: the probe side is the right one. `ordered`: a self-join.
  // `demand` is null if every pair is wanted.
  ResultWriter(ResultQueue &queue, bool swap, bool ordered, WantedPairs *demand = nullptr)
      : queue_(queue), swap_(swap), ordered_(ordered), demand_(demand) {}

  bool has_demand() const { return demand_ != nullptr; }
  // Returns the demand's answer for a pair. A row is no partner of itself.
  WantedPairs::Answer ask(uint32_t probe_row, uint32_t index_row, uint32_t limit) const {
    if (ordered_ && probe_row == index_row) return WantedPairs::Answer::never;
    if (index_first()) std::swap(probe_row, index_row);
    return demand_->ask(probe_row, index_row, limit);
  }
  // Returns whether the demand takes the index row first.
  bool index_first() const { return swap_ && !ordered_; }
  bool postpones() const { return demand_->postpones(); }
  void postpone(uint32_t probe_row, uint32_t index_row) {
    if (index_first()) std::swap(probe_row, index_row);
    demand_->postpone(probe_row, index_row);
  }
  // Hands over all pairs so far, and waits until the caller has looked at them.
  void settle();

  void emit(uint32_t probe_row, uint32_t index_row, uint32_t overlap) {
    push(probe_row, index_row, overlap);
    if (batch_.size() >= batch_pairs) flush();
  }
  // The same for a pair of a weighted join.
  void emit_similarity(uint32_t probe_row, uint32_t index_row, double similarity) {
    push(probe_row, index_row, 0);
    batch_.similarity.push_back(similarity);
    if (batch_.size() >= batch_pairs) flush();
  }
  void flush();
  uint64_t emitted() const { return emitted_; }

 private:
  static constexpr size_t batch_pairs = 4096;

  void push(uint32_t probe_row, uint32_t index_row, uint32_t overlap) {
    if (demand_ != nullptr) {
      index_first() ? demand_->note(index_row, probe_row) : demand_->note(probe_row, index_row);
    }
    SIMJOIN_CHECK(!ordered_ || probe_row != index_row);
    const bool exchange = ordered_ ? probe_row > index_row : swap_;
    if (exchange) std::swap(probe_row, index_row);
    batch_.push(probe_row, index_row, overlap);
    ++emitted_;
  }

  ResultQueue &queue_;
  const bool swap_;
  const bool ordered_;
  WantedPairs *const demand_;
  Batch batch_;
  uint64_t emitted_ = 0;
};

}  // namespace simjoin
