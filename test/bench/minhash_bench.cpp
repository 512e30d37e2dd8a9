// Times MinHash signatures against a scalar loop, and a join by bands against the exact join:
//   simjoin_minhash_bench [--profile NAME] [--scale X] [--threads N] [--threshold T]
#include <hwy/targets.h>

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/band_join.hpp"
#include "bench/scalar_minhash.hpp"
#include "core/base/worker_pool.hpp"
#include "core/join.hpp"
#include "core/minhash/minhash.hpp"
#include "core/minhash/weighted_minhash.hpp"

namespace simjoin::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t permutations = 128;
constexpr int repeats = 5;

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Returns the shortest time of several runs in CPU seconds of all threads, which other work of the machine
// disturbs least.
double best_seconds(const std::function<void()> &run) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) {
    const double begin = cpu_seconds();
    run();
    best = std::min(best, cpu_seconds() - begin);
  }
  return best;
}

// Returns the cycles per second: the rate of additions of which each needs the one before.
double clock_rate() {
  constexpr uint64_t count = 100'000'000;
  const double seconds = best_seconds([] {
    uint64_t sum = 1;
    for (uint64_t i = 0; i < count; ++i) asm volatile("add %0, %0" : "+r"(sum));
  });
  return static_cast<double>(count) / seconds;
}

// The vectors that the loop uses here: lanes of 64 bits, vector operations per cycle, and vector operations
// per evaluation. With AVX-512 these are a product, a fused multiply-add, two shifts, an addition and a
// minimum, otherwise two products, three additions, two shifts and a minimum.
struct Vectors {
  const char *name;
  double lanes;
  double operations_per_cycle;
  double operations;
};
Vectors vectors() {
  const int64_t targets = hwy::SupportedTargets();
  if (targets & (HWY_AVX3 | HWY_AVX3_DL)) return {"AVX-512", 8, 2, 6};
  if (targets & HWY_AVX2) return {"AVX2", 4, 3, 8};
  return {"128 bits", 2, 2, 8};
}

void bench_signatures(int threads) {
  constexpr size_t sets = 4096, size = 340;
  std::mt19937_64 random(1);
  std::vector<uint32_t> hashes(sets * size);
  for (uint32_t &hash : hashes) hash = static_cast<uint32_t>(random());
  std::vector<uint32_t> values(sets * permutations), scalar(size_t{64} * permutations);
  const std::vector<Permutation> family = permutations_of(1, permutations);
  const double scalar_rate = 64.0 * size * permutations / best_seconds([&] {
                               std::fill(scalar.begin(), scalar.end(), UINT32_MAX);
                               for (size_t set = 0; set < 64; ++set)
                                 scalar_values(family.data(), permutations, hashes.data() + set * size, size,
                                               scalar.data() + set * permutations);
                             });
  const MinHasher hasher(permutations, 1);
  const StopFlag stop;
  const Vectors vector = vectors();
  const double ceiling = clock_rate() * vector.lanes * vector.operations_per_cycle / vector.operations;
  std::printf("scalar loop: %.3g evaluations/s on one core\n", scalar_rate);
  for (int used = 1; used <= threads; used *= 2) {
    WorkerPool pool(used, stop);
    const double rate =
        static_cast<double>(hashes.size()) * permutations * used / best_seconds([&] {
          pool.parallel(sets / 64, [&](int, size_t piece) {
            for (size_t set = piece * 64; set < (piece + 1) * 64; ++set) {
              hasher.start(values.data() + set * permutations);
              hasher.add(hashes.data() + set * size, size, values.data() + set * permutations);
            }
          });
        });
    std::printf(
        "minhash: %.3g evaluations/s on %d threads, %.1f times the scalar loop, ceiling %.3g (%s), %.0f %%\n",
        rate, used, rate / scalar_rate, ceiling * used, vector.name, 100 * rate / (ceiling * used));
  }
  if (!std::equal(scalar.begin(), scalar.end(), values.begin())) std::printf("WRONG values\n");
}

void bench_weighted() {
  constexpr size_t size = 340;
  std::vector<WeightedToken> tokens(size);
  for (size_t i = 0; i < size; ++i) tokens[i] = {i * i, 1.0 + static_cast<double>(i % 10)};
  WeightedSamples samples;
  const auto rate = [&](auto &&add) {
    return size * permutations / best_seconds([&] {
             samples.start(permutations);
             add(tokens.data(), size, 1, samples);
           });
  };
  const double scalar = rate(add_weighted_by_definition), vector = rate(add_weighted);
  std::printf("weighted: scalar loop %.3g, vectors %.3g draws/s on one core, %.1f times\n", scalar, vector,
              vector / scalar);
}

}  // namespace
}  // namespace simjoin::bench

int main(int argc, char **argv) {
  using namespace simjoin::bench;
  std::string profile = "dblp1m";
  double scale = 1, threshold = 0.8;
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--profile") profile = argv[i + 1];
    if (name == "--scale") scale = std::atof(argv[i + 1]);
    if (name == "--threads") threads = std::atoi(argv[i + 1]);
    if (name == "--threshold") threshold = std::atof(argv[i + 1]);
  }
  bench_signatures(threads);
  bench_weighted();
  return BandJoin(profile, scale, threshold, threads).run(simjoin::Device::cpu, 1) ? 0 : 1;
}
