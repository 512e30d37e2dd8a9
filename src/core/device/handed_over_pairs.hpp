// The pairs of a join that its caller has got from a GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/check.hpp"
#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/join.hpp"

namespace simjoin {

class HandedOverPairs {
 public:
  explicit HandedOverPairs(MemoryCounter &memory) : pairs_(memory) {}

  bool empty() const { return pairs_.empty(); }
  // Notes the pairs of a batch. Returns false, and forgets all pairs, once they take more than `limit` bytes.
  bool remember(const Batch &batch, size_t limit);
  // Called once all pairs are there, before drop_from(). Sorts in place, since the pairs may take the memory
  // limit. This takes seconds.
  void sort(const StopFlag &stop);
  // Removes the pairs from a batch.
  void drop_from(Batch &batch) const;

 private:
  Buffer<uint64_t> pairs_;
  bool sorted_ = false;
};

}  // namespace simjoin
