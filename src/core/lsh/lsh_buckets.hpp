// The buckets of a join by bands: which rows agree in which band, and which pairs an earlier band has had.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/lsh/lsh_filter.hpp"
#include "core/lsh/lsh_join.hpp"
#include "core/lsh/lsh_keys.hpp"
#include "core/lsh/lsh_loader.hpp"
#include "core/lsh/lsh_rows.hpp"
#include "core/sort/parallel_sort.hpp"

namespace simjoin {

// Rows are numbered over both sides, right ones after the left ones. Bands are worked through in order; each
// calls `visit(worker, l, r)` for the pairs that share one of its buckets, l.number < r.number, in a join of
// two sides only pairs of both, and none that an earlier band has visited. Where tokens are counted, it
// leaves out those that LshFilter rules out.
class LshBuckets {
 public:
  using Visit = std::function<void(int worker, const LshRow &l, const LshRow &r)>;

  // `loaded_bytes` is what rows take that a worker has in memory, in each of two places. The worker that
  // works on larger ones holds `large`.
  LshBuckets(const LshRows &rows, const LshSpec &spec, int workers, size_t loaded_bytes, LargeRows &large,
             Visit visit, MemoryCounter &memory);

  // Works through a part of the band: `keys` are all keys of some hashes, ascending.
  void visit_keys(std::span<const SortKey> keys, WorkerPool &pool);
  // The same of the one bucket of a range that is too large for LshKeys::sorted(). It must be more than are
  // compared each with each.
  void visit_large(const LshKeys &keys, const LshKeys::Range &range, WorkerPool &pool);
  bool is_chained(uint64_t rows) const { return rows > max_bucket_size_; }
  // Goes on to the next band.
  void end_band();

  // Returns the figures of the buckets so far.
  LshStats stats() const;

 private:
  // A bucket that was too large, by its hash: its first row, and its first right row.
  struct Chained {
    uint64_t hash;
    uint32_t first;
    uint32_t right;
  };
  // What one worker has in memory.
  struct Worker {
    LshLoader left;
    LshLoader right;
    std::unique_ptr<LshFilter> filter;  // null where tokens are not counted
  };

  void visit_bucket(std::span<const SortKey> bucket, int worker, const StopFlag &stop);
  void chain(const Chained &bucket, size_t left, size_t all);
  void visit_chained(const Chained &bucket, std::span<const SortKey> rows, int worker, const StopFlag &stop);
  void visit_pairs(std::span<const SortKey> left, std::span<const SortKey> right, int worker,
                   const StopFlag &stop);
  void visit_among(std::span<const SortKey> rows, int worker, const StopFlag &stop);
  void visit_loaded(std::span<const LshRow> left, std::span<const LshRow> right, int worker,
                    const StopFlag &stop);
  void visit_pair(int worker, const LshRow &l, const LshRow &r) const {
    if (!visited_before(l, r)) visit_(worker, l, r);
  }
  bool visited_before(const LshRow &l, const LshRow &r) const;
  size_t count_left(std::span<const SortKey> rows) const;
  uint64_t pairs_of(size_t left, size_t all) const;

  const LshRows &rows_;
  const bool self_join_;
  const uint32_t max_bucket_size_;
  const Visit visit_;
  LargeRows &large_;
  std::vector<Worker> workers_;
  uint32_t band_ = 0;
  Buffer<Chained> chained_;           // of the bands before this one, in each ascending by hash
  std::vector<size_t> chained_ends_;  // of these bands
  std::mutex mutex_;                  // of this band's chained buckets, and all figures
  Buffer<Chained> new_chained_;
  std::atomic<uint64_t> comparisons_{0};
  LshStats chained_stats_;
};

}  // namespace simjoin
