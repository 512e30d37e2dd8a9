#include "core/flyhash/flyhash_bulk.hpp"

#include <algorithm>

#include "core/base/check.hpp"
#include "core/base/costs.hpp"
#include "core/device/gpu_attempt.hpp"

namespace simjoin {
namespace {

// The most bytes of levels, and of winners, that wait for a round.
constexpr size_t bytes_per_round = size_t{64} << 20;
constexpr size_t values_at_first = 1 << 16;

double cpu_ms_of(const FlyShape &shape, size_t vectors, int threads, bool drawn) {
  const auto rows = static_cast<double>(shape.hash_length);
  const size_t blocks = (vectors + fly_block_vectors - 1) / fly_block_vectors;
  const double a_row =
      static_cast<double>(shape.projection) * costs::flyhash::cpu_level + costs::flyhash::cpu_activation;
  const double hash = static_cast<double>(blocks * fly_block_vectors) * rows * a_row;
  const double draw = drawn ? 0 : rows * static_cast<double>(shape.projection) * costs::flyhash::cpu_position;
  return (hash + draw) / threads * 1e-6;
}

double gpu_ms_of(const FlyShape &shape, size_t vectors) {
  const double activations = static_cast<double>(vectors) * shape.hash_length;
  const double bytes =
      static_cast<double>(vectors) * (sizeof(uint16_t) * shape.dimension + sizeof(uint32_t) * shape.winners);
  const double an_activation = shape.dimension * costs::flyhash::gpu_product + costs::flyhash::gpu_activation;
  return (activations * an_activation + bytes * costs::gpu_byte) * 1e-6 + costs::flyhash::gpu_round_ms;
}

}  // namespace

BulkFlyHasher::BulkFlyHasher(const FlyShape &shape, Device device, size_t gpu_memory_limit, int threads)
    : shape_(shape), attempt_(device), gpu_memory_limit_(gpu_memory_limit), threads_(threads) {}

void BulkFlyHasher::add(const float *values) {
  SIMJOIN_CHECK(!task_);  // the round before is done
  const size_t end = (vectors_ + 1) * shape_.dimension;
  // Grows by itself, since what a vector would set to zero is written below.
  if (levels_.size() < end) levels_.resize(std::max({end, 2 * levels_.size(), values_at_first}));
  fly_levels(values, shape_.dimension, levels_.data() + vectors_ * shape_.dimension);
  ++vectors_;
}

bool BulkFlyHasher::full() const {
  return vectors_ * shape_.dimension * sizeof(uint16_t) >= bytes_per_round ||
         vectors_ * shape_.winners * sizeof(uint32_t) >= bytes_per_round;
}

bool BulkFlyHasher::step(std::chrono::microseconds budget) {
  if (!task_) {
    if (winners_.size() < vectors_ * shape_.winners) winners_.resize(vectors_ * shape_.winners);
    task_ = std::make_unique<BackgroundTask>(threads_, [this](WorkerPool &pool) { run(pool); });
  }
  if (!task_->wait(budget)) return false;
  task_.reset();
  return true;
}

void BulkFlyHasher::run(WorkerPool &pool) {
  const double cpu_ms = cpu_ms_of(shape_, vectors_, pool.workers(), projection_ != nullptr);
  const auto on_gpu = [&](GpuBackend &backend) {
    FlyHashDevice *device = backend.flyhash();
    if (device == nullptr) return run_on_cpu(pool);
    if (!gpu_) gpu_ = device->open(shape_, gpu_memory_limit_);
    gpu_->hash(levels_.data(), vectors_, winners_.data(), pool);
  };
  const auto on_cpu = [&] {
    gpu_.reset();
    run_on_cpu(pool);
  };
  attempt_.choose(cpu_ms, gpu_ms_of(shape_, vectors_));
  attempt_.run(on_gpu, on_cpu);
}

void BulkFlyHasher::run_on_cpu(WorkerPool &pool) {
  const uint32_t rows = fly_rows_at_once(shape_);
  if (!projection_) {
    auto projection = std::make_unique<FlyProjection>(shape_);
    const uint32_t piece = std::max(1u, rows / 16);  // small enough for all threads to get some
    pool.parallel((shape_.hash_length + piece - 1) / piece, [&](int, size_t i) {
      const auto begin = static_cast<uint32_t>(i) * piece;
      projection->draw(begin, std::min(shape_.hash_length, begin + piece));
    });
    projection_ = std::move(projection);
  }
  blocks_.resize(static_cast<size_t>(pool.workers()));
  if (!blocks_.front()) blocks_.front() = std::make_unique<FlyBlock>(*projection_);
  const size_t piece = blocks_.front()->most_vectors();
  pool.parallel((vectors_ + piece - 1) / piece, [&](int worker, size_t i) {
    std::unique_ptr<FlyBlock> &block = blocks_[static_cast<size_t>(worker)];
    if (!block) block = std::make_unique<FlyBlock>(*projection_);
    const size_t begin = i * piece, count = std::min(piece, vectors_ - begin);
    block->start(levels_.data() + begin * shape_.dimension, count);
    while (!block->step(rows)) pool.stop().check();
    for (size_t vector = 0; vector < count; ++vector) {
      block->write(vector, winners_.data() + (begin + vector) * shape_.winners);
    }
  });
}

void BulkFlyHasher::clear() {
  vectors_ = 0;
}

}  // namespace simjoin
