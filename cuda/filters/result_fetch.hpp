// Copies results from device memory to the caller's batches.
#pragma once

#include <cstdint>
#include <functional>

#include "core/join.hpp"
#include "cuda/base/device.hpp"
#include "cuda/base/page_locked.hpp"
#include "cuda/filters/candidates.hpp"

namespace simjoin::gpu {

class ResultFetcher {
 public:
  // Fetches the first `results` results piece by piece and passes them to push() in batches. `swap` exchanges
  // left and right. Waits for the device's stream.
  void fetch(const Device &device, const CandidateBuffer &from, uint64_t results, bool swap,
             const std::function<void(Batch &)> &push);

 private:
  PinnedBuffer<uint32_t> staging_;
};

}  // namespace simjoin::gpu
