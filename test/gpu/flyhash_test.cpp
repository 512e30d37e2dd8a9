// FlyHash on the GPU against the CPU: the same winners for any vectors and shape, and device faults.
#include "core/flyhash/flyhash_bulk.hpp"

#include <cuda_runtime_api.h>

#include <chrono>
#include <random>

#include "core/base/error.hpp"
#include "core/device/gpu.hpp"
#include "cuda/engine/gpu_engine.hpp"
#include "cuda/flyhash/flyhash.hpp"
#include "gpu/gpu_drive.hpp"
#include "unit/fly_oracle.hpp"

namespace simjoin::test {
namespace {

using gpu::CudaFlyHash;

class GpuFlyHash : public OnDevice<testing::Test> {
 protected:
  void TearDown() override { fail_device_call(0, false); }
};

// Returns levels of `vectors` vectors. Kind 0 has random levels, kind 1 few distinct ones, kind 2 one level.
std::vector<uint16_t> random_levels(const FlyShape &shape, size_t vectors, int kind, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint16_t> levels(vectors * shape.dimension);
  for (uint16_t &level : levels) {
    const uint64_t draw = random();
    level = static_cast<uint16_t>(kind == 0   ? 1 + draw % fly_most_level
                                  : kind == 1 ? fly_most_level - draw % 2 * 127
                                              : fly_most_level);
  }
  return levels;
}

std::vector<uint32_t> on_cpu(const FlyShape &shape, const std::vector<uint16_t> &levels) {
  FlyProjection projection(shape);
  projection.draw(0, shape.hash_length);
  FlyBlock block(projection);
  const size_t vectors = levels.size() / shape.dimension;
  std::vector<uint32_t> winners(vectors * shape.winners);
  for (size_t begin = 0; begin < vectors; begin += fly_block_vectors) {
    const size_t count = std::min(fly_block_vectors, vectors - begin);
    block.start(levels.data() + begin * shape.dimension, count);
    while (!block.step(shape.hash_length)) {
    }
    for (size_t i = 0; i < count; ++i) block.write(i, winners.data() + (begin + i) * shape.winners);
  }
  return winners;
}

std::vector<uint32_t> on_gpu(CudaFlyHash &work, const FlyShape &shape, const std::vector<uint16_t> &levels) {
  const size_t vectors = levels.size() / shape.dimension;
  std::vector<uint32_t> winners(vectors * shape.winners, ~0u);
  const StopFlag stop;
  WorkerPool pool(2, stop);
  work.hash(levels.data(), vectors, winners.data(), pool);
  return winners;
}

// Returns how many entries differ.
size_t differences(const std::vector<uint32_t> &a, const std::vector<uint32_t> &b) {
  size_t count = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) count += a[i] != b[i];
  return count;
}

constexpr FlyShape shapes[] = {{1, 1, 1, 1, 1},
                               {2, 257, 13, 1, 2},
                               {31, 255, 255, 3, 3},
                               {32, 256, 1, 32, 4},
                               {33, 257, 100, 2, 5},
                               {64, 8192, 400, 5, 6},
                               {65, 8193, 8193, 1, 7},
                               {96, 4096, 205, 96, 8},
                               {128, 10000, 500, 6, 9},
                               {129, 9001, 450, 7, 10},
                               {784, 3000, 150, 39, 11},
                               {3000, 700, 35, 600, 12},
                               {20000, 300, 15, 15000, 13}};

class GpuFlyHashShapes : public OnDevice<testing::TestWithParam<FlyShape>> {};

INSTANTIATE_TEST_SUITE_P(Every, GpuFlyHashShapes, testing::ValuesIn(shapes),
                         [](const auto &info) { return "Dimension" + std::to_string(info.param.dimension); });

TEST_P(GpuFlyHashShapes, AgreeWithTheCpu) {
  const FlyShape shape = GetParam();
  uint64_t seed = std::random_device()();
  CudaFlyHash work(shape, 0, 0);
  for (const size_t vectors : {1, 127, 129, 300}) {
    for (const int kind : {0, 1, 2}) {
      const std::vector<uint16_t> levels = random_levels(shape, vectors, kind, ++seed);
      ASSERT_EQ(differences(on_cpu(shape, levels), on_gpu(work, shape, levels)), 0u)
          << vectors << " vectors, kind " << kind << ", seed " << seed;
    }
  }
}

TEST_F(GpuFlyHash, ManyBatchesAndLittleMemoryGiveTheSame) {
  const FlyShape shape{200, 20000, 1000, 10, 1};
  const std::vector<uint16_t> levels = random_levels(shape, 1500, 0, 5);
  const std::vector<uint32_t> expected = on_cpu(shape, levels);
  for (const size_t limit : {size_t{0}, size_t{80} << 20, size_t{16} << 20}) {
    CudaFlyHash work(shape, limit, 0);
    EXPECT_EQ(differences(expected, on_gpu(work, shape, levels)), 0u) << limit;
    EXPECT_EQ(differences(expected, on_gpu(work, shape, levels)), 0u) << "the second time";
    if (limit > 0) {
      EXPECT_LE(work.figures().device_memory_peak, limit);
      EXPECT_LT(work.figures().batch, 1500u);
    }
  }
  CudaFlyHash work(shape, size_t{4} << 20, 0);
  EXPECT_THROW(on_gpu(work, shape, levels), Error);
}

// Each device call fails in turn, with the right kind of error and without lost memory.
TEST_F(GpuFlyHash, EveryCallCanFail) {
  const FlyShape shape{50, 3000, 150, 5, 1};
  const std::vector<uint16_t> levels = random_levels(shape, 300, 0, 6);
  const std::vector<uint32_t> expected = on_cpu(shape, levels);
  const size_t limit = size_t{3} << 20;  // three batches
  const auto run = [&] {
    CudaFlyHash work(shape, limit, 0);
    EXPECT_EQ(differences(expected, on_gpu(work, shape, levels)), 0u);
  };
  run();
  run();
  const size_t free = free_memory();
  fail_each_call(1, run);
  run();
  EXPECT_EQ(free_memory(), free);
}

// As in a query: rounds on the GPU, a failure in the middle, and the rest on the CPU.
TEST_F(GpuFlyHash, RoundsGoOnOnTheCpuWhereTheGpuFails) {
  const FlyShape shape{120, 5000, 250, 6, 1};
  const NaiveFlyHash naive(shape);
  set_gpu_backend(&cuda_backend());
  for (const bool fail : {false, true}) {
    BulkFlyHasher hasher(shape, fail ? Device::automatic : Device::gpu, 0, 1);
    for (int round = 0; round < 2; ++round) {
      const Vectors vectors = mixed_vectors(shape.dimension, 700, static_cast<uint64_t>(round));
      hasher.clear();
      for (const auto &vector : vectors) hasher.add(vector.data());
      if (fail && round == 1) fail_device_call(5, true);
      while (!hasher.step(std::chrono::milliseconds(10))) {
      }
      for (size_t i = 0; i < vectors.size(); i += 10) {
        const auto winners = hasher.winners(i);
        ASSERT_EQ(std::vector<uint32_t>(winners.begin(), winners.end()), naive.hash(vectors[i]));
      }
      EXPECT_EQ(hasher.take_notice() != nullptr, fail && round == 1);
    }
  }
  set_gpu_backend(nullptr);
}

// An object may be used on another thread than the one that made it, and destroyed on a third.
TEST_F(GpuFlyHash, ThreadsMayChange) {
  const FlyShape shape{50, 3000, 150, 5, 1};
  const std::vector<uint16_t> levels = random_levels(shape, 300, 0, 8);
  auto work = on_thread([&] { return std::make_unique<CudaFlyHash>(shape, 0, 0); }, true);
  EXPECT_EQ(differences(on_cpu(shape, levels), on_thread([&] { return on_gpu(*work, shape, levels); })), 0u);
  on_thread([&] { work.reset(); });
}

TEST_F(GpuFlyHash, StopsBetweenBatches) {
  const FlyShape shape{784, 25088, 1254, 39, 1};
  const std::vector<uint16_t> levels = random_levels(shape, 10000, 0, 7);
  std::vector<uint32_t> winners(10000 * shape.winners);
  CudaFlyHash work(shape, 0, 0);
  StopFlag stop;
  WorkerPool pool(2, stop);
  stop.set();
  EXPECT_THROW(work.hash(levels.data(), 10000, winners.data(), pool), Cancelled);
}

}  // namespace
}  // namespace simjoin::test
