// Copies results from device memory to the caller's batches.
#pragma once

#include <cstdint>
#include <functional>

#include "core/join.hpp"
#include "cuda/base/device.hpp"
#include "cuda/base/page_locked.hpp"
#include "cuda/base/side_stream.hpp"
#include "cuda/filters/candidates.hpp"

namespace simjoin::gpu {

// Copies on a stream of its own, beside the kernels of the device's stream. The columns that it copies from
// must live as long as this object, because a copy may be under way when push() throws.
class ResultFetcher {
 public:
  // Fetches the first `results` results, which must be complete, and passes them to push() in batches. A
  // piece comes down while the one before is passed on.
  void fetch(const ResultColumns &from, uint64_t results, const std::function<void(Batch &)> &push);

 private:
  struct Piece {
    PinnedBuffer<uint32_t> columns;  // one after another
    size_t count = 0;                // pairs
    Event arrived;
  };
  void start(Piece &piece, const ResultColumns &from, uint64_t begin, uint64_t end);
  static void hand_over(const Piece &piece, const std::function<void(Batch &)> &push);

  Piece pieces_[2];
  SideStream stream_;  // destroyed first: waits for copies into the pieces
};

}  // namespace simjoin::gpu
