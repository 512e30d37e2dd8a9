// The buckets of a join by bands: which rows agree in which band, and which pairs an earlier band has had.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/parallel_sort.hpp"
#include "core/base/worker_pool.hpp"
#include "core/lsh/lsh_join.hpp"

namespace simjoin {

// Rows are numbered over both sides, right ones after the left ones. Bands are worked through in order; each
// calls `visit(worker, l, r)` for the pairs that share one of its buckets, l < r, in a join of two sides only
// pairs of both, and none that an earlier band has visited.
class LshBuckets {
 public:
  using Visit = std::function<void(int worker, uint32_t l, uint32_t r)>;

  // `left_rows` = `rows` in a self-join.
  LshBuckets(uint32_t rows, uint32_t left_rows, const LshSpec &spec, MemoryCounter &memory);

  // Works through the next band: `keys` are its hashes, with the row in the low half, of the rows that are
  // not empty, ascending.
  void next_band(std::span<const SortKey> keys, WorkerPool &pool, const Visit &visit);

  // Returns the figures of the buckets so far.
  LshStats stats() const;

 private:
  // A bucket that was too large, by its first row; `right` is its first right row.
  struct Chained {
    uint32_t first;
    uint32_t right;
  };

  void visit_bucket(std::span<const SortKey> bucket, int worker, const WorkerPool &pool, const Visit &visit);
  void visit_chained(std::span<const SortKey> bucket, size_t left, int worker, const WorkerPool &pool,
                     const Visit &visit);
  void visit_pair(int worker, uint32_t l, uint32_t r, const Visit &visit) const;
  bool visited_before(uint32_t l, uint32_t r) const;
  uint64_t pairs_of(size_t left, size_t all) const;

  const uint32_t left_rows_;
  const bool self_join_;
  const size_t bands_;
  const uint32_t max_bucket_size_;
  size_t band_ = 0;
  Buffer<uint32_t> first_of_;                  // by row and band: the first row of the row's bucket
  std::vector<std::vector<Chained>> chained_;  // by band, ascending by first row
  std::mutex mutex_;                           // of chained_[band_] and the figures of chained buckets
  std::atomic<uint64_t> comparisons_{0};
  LshStats chained_stats_;
};

}  // namespace simjoin
