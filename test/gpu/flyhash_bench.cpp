// Times FlyHash on the GPU: kernels by device events, and everything from vectors in memory to hashes in
// memory: simjoin_gpu_flyhash_bench [REPETITIONS [VECTORS DIMENSION HASH-LENGTH]...].
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "bench/fly_vectors.hpp"
#include "core/base/wall_clock.hpp"
#include "core/flyhash/flyhash.hpp"
#include "cuda/base/gpus.hpp"
#include "cuda/engine/gpu_engine.hpp"
#include "cuda/flyhash/flyhash.hpp"

namespace simjoin::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Returns how many hashes of a sample differ from the CPU's.
size_t wrong_hashes(const FlyShape &shape, const std::vector<uint16_t> &levels,
                    const std::vector<uint32_t> &winners) {
  FlyProjection projection(shape);
  projection.draw(0, shape.hash_length);
  FlyBlock block(projection);
  const size_t vectors = levels.size() / shape.dimension;
  std::vector<uint32_t> expected(shape.winners);
  size_t wrong = 0;
  for (size_t i = 0; i < vectors; i += std::max<size_t>(1, vectors / 50)) {
    block.start(levels.data() + i * shape.dimension, 1);
    while (!block.step(shape.hash_length)) {
    }
    block.write(0, expected.data());
    wrong += !std::equal(expected.begin(), expected.end(), winners.data() + i * shape.winners);
  }
  return wrong;
}

void run(const FlyShape &shape, size_t count, int repetitions) {
  const std::vector<float> vectors = clustered_vectors(count, shape.dimension);
  std::vector<uint16_t> levels(vectors.size());
  std::vector<uint32_t> winners(count * shape.winners);
  std::printf("%zu x %u -> %u, %u winners, %u values a row\n", count, shape.dimension, shape.hash_length,
              shape.winners, shape.projection);
  const StopFlag stop;
  WorkerPool pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())), stop);
  for (int i = 0; i < repetitions; ++i) {
    std::fill(winners.begin(), winners.end(), ~0u);
    const Clock::time_point begin = Clock::now();
    for (size_t vector = 0; vector < count; ++vector) {
      const size_t at = vector * shape.dimension;
      fly_levels(vectors.data() + at, shape.dimension, levels.data() + at);
    }
    const double levels_ms = milliseconds_since(begin);
    gpu::CudaFlyHash work(shape, 0, size_t{4} << 30);
    const double open_ms = milliseconds_since(begin) - levels_ms;
    work.hash(levels.data(), count, winners.data(), pool);
    const double total_ms = milliseconds_since(begin);
    const gpu::FlyFigures f = work.figures();
    const double kernels = f.draw_ms + f.arrange_ms + f.activate_ms + f.select_ms;
    const double products = 2.0 * static_cast<double>(count) * shape.hash_length * shape.dimension;
    std::printf(
        "  kernels %7.2f ms (draw %.2f arrange %.2f activate %.2f = %.0f Top/s, select %.2f) | end to end "
        "%7.2f ms (levels %.1f open %.1f) batch %zu, %zu MB\n",
        kernels, f.draw_ms, f.arrange_ms, f.activate_ms, 2 * products / f.activate_ms * 1e-9, f.select_ms,
        total_ms, levels_ms, open_ms, f.batch, f.device_memory_peak >> 20);
    std::fflush(stdout);
  }
  std::printf("  of 50 hashes %zu are not those of the CPU\n", wrong_hashes(shape, levels, winners));
}

}  // namespace
}  // namespace simjoin::bench

int main(int argc, char **argv) {
  using namespace simjoin;
  std::string reason;
  if (!gpu_available(&reason)) {
    std::printf("no GPU to measure: %s\n", reason.c_str());
    return 0;
  }
  std::vector<const char *> numbers{"60000", "784", "25088", "50000", "3072", "24576"};
  if (argc > 2) numbers.assign(argv + 2, argv + argc);
  for (size_t i = 0; i + 2 < numbers.size(); i += 3) {
    const auto dimension = static_cast<uint32_t>(std::atol(numbers[i + 1]));
    const auto length = static_cast<uint32_t>(std::atol(numbers[i + 2]));
    if (dimension < 1 || dimension > max_fly_dimension || length < 1 || length > max_fly_hash_length)
      return 2;
    bench::run({dimension, length, fly_share(length), fly_share(dimension), 1},
               static_cast<size_t>(std::atol(numbers[i])), argc > 1 ? std::atoi(argv[1]) : 3);
  }
  return 0;
}
