#include "cuda/flyhash/flyhash.hpp"

#include <algorithm>
#include <span>

namespace simjoin::gpu {
namespace {

constexpr uint32_t step_positions = 32;
constexpr uint32_t steps_per_group = 4;
constexpr uint32_t steps_per_stage = 2;

// Bytes of a batch's activations: enough tiles to keep an H200 busy (25,088 rows: 15 by 98 tiles).
constexpr size_t batch_bytes = size_t{192} << 20;
// Multiplications of a batch: it can be stopped within some 20 ms on an H200.
constexpr double batch_products = 5e12;
// Bytes that one thread copies at a time.
constexpr size_t piece_bytes = size_t{1} << 20;

// Copies with the threads of the pool.
template <class T>
void copy(WorkerPool &pool, T *to, const T *from, size_t count) {
  constexpr size_t piece = piece_bytes / sizeof(T);
  pool.parallel((count + piece - 1) / piece, [&](int, size_t i) {
    std::copy_n(from + i * piece, std::min(piece, count - i * piece), to + i * piece);
  });
}

constexpr uint32_t round_up(uint32_t count, uint32_t to) {
  return (count + to - 1) / to * to;
}

}  // namespace

FlyLayout::FlyLayout(const FlyShape &fly_shape)
    : shape(fly_shape),
      steps(round_up((shape.dimension + step_positions - 1) / step_positions, steps_per_stage)),
      groups((steps + steps_per_group - 1) / steps_per_group),
      padded_rows(round_up(shape.hash_length, fly_tile_rows)) {}

CudaFlyHash::CudaFlyHash(const FlyShape &shape, size_t memory_limit, size_t kept_memory)
    : layout_(shape), device_(memory_limit, kept_memory), words_(device_, layout_.words()) {
  slots_ = std::make_unique<Slot[]>(slot_count);
  Slot &slot = slots_[0];
  slot.started.record(device_.stream());
  words_.fill(0);
  draw_fly_rows(device_, layout_, words_.data());
  slot.done.record(device_.stream());
  slot.done.wait();
  figures_.draw_ms = slot.done.since(slot.started);
}

// Makes room for a batch of `vectors` vectors, or for the largest batch within the limits.
void CudaFlyHash::make_room(size_t vectors) {
  const FlyShape &shape = layout_.shape;
  const size_t a_row_of_all = size_t{layout_.padded_rows} * sizeof(uint32_t);
  const size_t a_vector = a_row_of_all + layout_.fragments(1) * sizeof(uint4) +
                          shape.dimension * sizeof(uint16_t) + shape.winners * sizeof(uint32_t);
  const double products = double{step_positions} * layout_.steps * layout_.padded_rows;
  const size_t own = batch_ * a_vector;  // freed before the new buffers are allocated
  const size_t most = std::min({batch_bytes / a_row_of_all, (device_.memory_left() + own) / a_vector,
                                static_cast<size_t>(batch_products / products)});
  size_t batch = std::min(most, (vectors + fly_tile_vectors - 1) / fly_tile_vectors * fly_tile_vectors);
  batch = std::max<size_t>(batch / fly_tile_vectors, 1) * fly_tile_vectors;
  if (batch <= batch_) return;
  batch_ = 0;
  activations_.reset();
  fragments_.reset();
  levels_.reset();
  winners_.reset();
  activations_ = DeviceBuffer<uint32_t>(device_, batch * layout_.padded_rows);
  fragments_ = DeviceBuffer<uint4>(device_, layout_.fragments(batch));
  levels_ = DeviceBuffer<uint16_t>(device_, batch * shape.dimension);
  winners_ = DeviceBuffer<uint32_t>(device_, batch * shape.winners);
  for (Slot &slot : std::span(slots_.get(), slot_count)) {
    slot.levels = PinnedBuffer<uint16_t>(batch * shape.dimension);
    slot.winners = PinnedBuffer<uint32_t>(batch * shape.winners);
  }
  batch_ = batch;
}

// Starts the work on a batch of `vectors` vectors.
void CudaFlyHash::submit(Slot &slot, const uint16_t *levels, uint32_t vectors, WorkerPool &pool) {
  const FlyShape &shape = layout_.shape;
  const uint32_t padded = round_up(vectors, fly_tile_vectors);
  const size_t values = size_t{vectors} * shape.dimension;
  copy(pool, slot.levels.data(), levels, values);
  copy_to_device(device_, levels_.data(), slot.levels.data(), values);
  slot.started.record(device_.stream());
  arrange_fly_levels(device_, layout_, levels_.data(), vectors, padded, fragments_.data());
  slot.arranged.record(device_.stream());
  activate_fly_rows(device_, layout_, words_.data(), fragments_.data(), padded, activations_.data());
  slot.activated.record(device_.stream());
  select_fly_winners(device_, layout_, activations_.data(), vectors, winners_.data());
  slot.selected.record(device_.stream());
  copy_to_host(device_, slot.winners.data(), winners_.data(), size_t{vectors} * shape.winners);
  slot.done.record(device_.stream());
}

// Waits for a batch and copies its winners to `winners`.
void CudaFlyHash::fetch(Slot &slot, uint32_t vectors, uint32_t *winners, WorkerPool &pool) {
  slot.done.wait();
  figures_.arrange_ms += slot.arranged.since(slot.started);
  figures_.activate_ms += slot.activated.since(slot.arranged);
  figures_.select_ms += slot.selected.since(slot.activated);
  copy(pool, winners, slot.winners.data(), size_t{vectors} * layout_.shape.winners);
}

void CudaFlyHash::hash(const uint16_t *levels, size_t vectors, uint32_t *winners, WorkerPool &pool) {
  if (vectors == 0) return;
  device_.make_current();
  make_room(vectors);
  const auto count = [&](size_t begin) { return static_cast<uint32_t>(std::min(batch_, vectors - begin)); };
  const FlyShape &shape = layout_.shape;
  int slot = 0;
  for (size_t begin = 0; begin < vectors; begin += batch_) {
    pool.stop().check();
    submit(slots_[slot], levels + begin * shape.dimension, count(begin), pool);
    slot = 1 - slot;
    if (begin == 0) continue;
    // The previous batch is fetched while the device works on this one.
    fetch(slots_[slot], count(begin - batch_), winners + (begin - batch_) * shape.winners, pool);
  }
  const size_t last = (vectors - 1) / batch_ * batch_;
  fetch(slots_[1 - slot], count(last), winners + last * shape.winners, pool);
}

FlyFigures CudaFlyHash::figures() const {
  FlyFigures figures = figures_;
  figures.batch = batch_;
  figures.device_memory_peak = device_.memory_peak();
  return figures;
}

std::unique_ptr<FlyHashWork> CudaFlyHashDevice::open(const FlyShape &shape, size_t memory_limit) {
  return std::make_unique<CudaFlyHash>(shape, memory_limit, kept_device_memory);
}

}  // namespace simjoin::gpu
