// FlyHash on a GPU. Activations are an exact product of 8-bit integers on tensor cores; winners come from a
// radix select.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/flyhash/flyhash_device.hpp"
#include "cuda/base/device.hpp"
#include "cuda/base/page_locked.hpp"

namespace simjoin::gpu {

// A tile: the rows and the vectors that one thread block multiplies.
inline constexpr uint32_t fly_tile_rows = 256;
inline constexpr uint32_t fly_tile_vectors = 128;

// Memory layout of the operands. An instruction multiplies 16 rows by 8 vectors by 32 positions (a step), and
// each thread of a warp finds its operands in its own place. A byte of a level holds the lower 7 or the upper
// 8 bits. The bytes of the projection are 1 or 128 accordingly, and are made from single bits when needed.
struct FlyLayout {
  explicit FlyLayout(const FlyShape &shape);

  FlyShape shape;
  uint32_t steps;        // of 32 positions, rounded up to whole stages
  uint32_t groups;       // of four steps: one word of bits for each row and quarter of a group
  uint32_t padded_rows;  // rounded up to whole tiles; the stride of a vector's activations

  size_t words() const { return size_t{padded_rows} * groups * 4; }
  // Returns the number of 16-byte fragments of `vectors` vectors, a multiple of the tile's.
  size_t fragments(size_t vectors) const { return vectors * steps * 4; }
};

// Draws the projection. `words` must be zero.
void draw_fly_rows(const Device &device, const FlyLayout &layout, uint32_t *words);
// Arranges the levels of `vectors` vectors as fragments, with zeros from there to `padded`.
void arrange_fly_levels(const Device &device, const FlyLayout &layout, const uint16_t *levels,
                        uint32_t vectors, uint32_t padded, uint4 *fragments);
// Computes the activations of every row for `padded` vectors.
void activate_fly_rows(const Device &device, const FlyLayout &layout, const uint32_t *words,
                       const uint4 *fragments, uint32_t padded, uint32_t *activations);
// Writes the winners of each vector, in ascending order.
void select_fly_winners(const Device &device, const FlyLayout &layout, const uint32_t *activations,
                        uint32_t vectors, uint32_t *winners);

// Milliseconds of device time so far.
struct FlyFigures {
  double draw_ms = 0;
  double arrange_ms = 0;
  double activate_ms = 0;
  double select_ms = 0;
  size_t batch = 0;  // vectors per batch
  size_t device_memory_peak = 0;
};

class CudaFlyHash final : public FlyHashWork {
 public:
  CudaFlyHash(const FlyShape &shape, size_t memory_limit, size_t kept_memory);
  ~CudaFlyHash() override { device_.make_current_or_not(); }

  void hash(const uint16_t *levels, size_t vectors, uint32_t *winners, WorkerPool &pool) override;
  FlyFigures figures() const;

 private:
  static constexpr size_t slot_count = 2;

  // The buffers and events of one batch.
  struct Slot {
    PinnedBuffer<uint16_t> levels;
    PinnedBuffer<uint32_t> winners;
    Event started, arranged, activated, selected, done;
  };

  void make_room(size_t vectors);
  void submit(Slot &slot, const uint16_t *levels, uint32_t vectors, WorkerPool &pool);
  void fetch(Slot &slot, uint32_t vectors, uint32_t *winners, WorkerPool &pool);

  const FlyLayout layout_;
  // Declared before the device, whose destructor waits for the copies.
  std::unique_ptr<Slot[]> slots_;
  Device device_;
  FlyFigures figures_;
  size_t batch_ = 0;
  DeviceBuffer<uint32_t> words_;
  DeviceBuffer<uint16_t> levels_;
  DeviceBuffer<uint4> fragments_;
  DeviceBuffer<uint32_t> activations_;
  DeviceBuffer<uint32_t> winners_;
};

class CudaFlyHashDevice final : public FlyHashDevice {
 public:
  std::unique_ptr<FlyHashWork> open(const FlyShape &shape, size_t memory_limit) override;
};

}  // namespace simjoin::gpu
