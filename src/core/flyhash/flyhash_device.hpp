// FlyHash on a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/worker_pool.hpp"
#include "core/flyhash/flyhash_family.hpp"

namespace simjoin {

// Hashes vectors of one shape on a GPU, which holds the projection and buffers.
class FlyHashWork {
 public:
  virtual ~FlyHashWork() = default;

  // Writes the winners of each vector, shape.winners positions in ascending order. `levels` has
  // shape.dimension levels for each vector. The pool's threads help with copying. Throws Cancelled soon after
  // its stop flag is set, and Error as GpuBackend::make_engine does.
  virtual void hash(const uint16_t *levels, size_t vectors, uint32_t *winners, WorkerPool &pool) = 0;
};

class FlyHashDevice {
 public:
  virtual ~FlyHashDevice() = default;

  // `memory_limit` is in bytes of device memory; 0 = most of the free memory. Throws Error.
  virtual std::unique_ptr<FlyHashWork> open(const FlyShape &shape, size_t memory_limit) = 0;
};

}  // namespace simjoin
