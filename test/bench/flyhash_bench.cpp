// Times FlyHash against a straightforward loop over vectors and rows:
// simjoin_flyhash_bench [VECTORS [DIMENSION [HASH-LENGTH [THREADS]]]].
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <utility>
#include <vector>

#include "bench/fly_vectors.hpp"
#include "core/flyhash/flyhash_bulk.hpp"

namespace simjoin::bench {
namespace {

// Milliseconds since the construction: on the clock, and of all threads of this process.
class Stopwatch {
 public:
  double wall_ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - wall_).count();
  }
  double cpu_ms() const { return static_cast<double>(std::clock() - cpu_) * 1e3 / CLOCKS_PER_SEC; }

 private:
  std::chrono::steady_clock::time_point wall_ = std::chrono::steady_clock::now();
  std::clock_t cpu_ = std::clock();
};

// Returns the winners of a vector by the straightforward way: all sums, then the largest.
std::vector<uint32_t> hash_plainly(const FlyProjection &projection, const uint16_t *levels) {
  const FlyShape &shape = projection.shape();
  std::vector<std::pair<int32_t, uint32_t>> activations(shape.hash_length);
  const uint16_t *positions = projection.positions();
  for (uint32_t row = 0; row < shape.hash_length; ++row) {
    int32_t sum = 0;
    for (uint32_t i = 0; i < shape.projection; ++i) sum += levels[*positions++];
    activations[row] = {-sum, row};
  }
  std::nth_element(activations.begin(), activations.begin() + (shape.winners - 1), activations.end());
  std::vector<uint32_t> winners(shape.winners);
  std::transform(activations.begin(), activations.begin() + shape.winners, winners.begin(),
                 [](const auto &activation) { return activation.second; });
  std::sort(winners.begin(), winners.end());
  return winners;
}

void report(const char *name, int threads, const Stopwatch &time, size_t vectors) {
  const double wall = time.wall_ms(), cpu = time.cpu_ms();
  std::printf("%-12s %2d threads %10.0f ms, %10.0f ms of CPU time, %8.4f a vector\n", name, threads, wall,
              cpu, cpu / static_cast<double>(vectors));
  std::fflush(stdout);
}

// Hashes all vectors in rounds. Returns the milliseconds of CPU time per vector, or -1 if one of the hashes
// is not the expected one.
double time_rounds(const FlyShape &shape, const std::vector<float> &vectors, int threads,
                   const std::vector<std::vector<uint32_t>> &expected) {
  const Stopwatch time;
  BulkFlyHasher hasher(shape, Device::cpu, 0, threads);
  const size_t count = vectors.size() / shape.dimension;
  bool right = true;
  for (size_t i = 0, done = 0; i < count; ++i) {
    hasher.add(vectors.data() + i * shape.dimension);
    if (!hasher.full() && i + 1 < count) continue;
    while (!hasher.step(std::chrono::milliseconds(10))) {
    }
    for (size_t j = 0; j < hasher.vectors() && done + j < expected.size(); ++j) {
      right &= std::ranges::equal(hasher.winners(j), expected[done + j]);
    }
    done += hasher.vectors();
    hasher.clear();
  }
  report("blocks", threads, time, count);
  if (!right) std::printf("WRONG hashes\n");
  return right ? time.cpu_ms() / static_cast<double>(count) : -1;
}

int run(const FlyShape &shape, size_t count, int threads) {
  constexpr size_t plainly = 100;
  const std::vector<float> vectors = clustered_vectors(count, shape.dimension);
  std::printf("%zu vectors of %u, hash length %u, %u winners, %u values a row\n", count, shape.dimension,
              shape.hash_length, shape.winners, shape.projection);
  FlyProjection projection(shape);
  projection.draw(0, shape.hash_length);
  std::vector<std::vector<uint16_t>> levels(std::min(plainly, count), std::vector<uint16_t>(shape.dimension));
  for (size_t i = 0; i < levels.size(); ++i) {
    fly_levels(vectors.data() + i * shape.dimension, shape.dimension, levels[i].data());
  }
  std::vector<std::vector<uint32_t>> expected;
  const Stopwatch time;
  for (const auto &own : levels) expected.push_back(hash_plainly(projection, own.data()));
  const double plain = time.cpu_ms() / static_cast<double>(levels.size());
  report("plain loop", 1, time, levels.size());
  const double single = time_rounds(shape, vectors, 1, expected);
  const double all = threads > 1 ? time_rounds(shape, vectors, threads, expected) : single;
  if (single < 0 || all < 0) return 1;
  std::printf("%.1f times as fast as the plain loop, by CPU time with 1 thread\n", plain / single);
  return 0;
}

}  // namespace
}  // namespace simjoin::bench

int main(int argc, char **argv) {
  using namespace simjoin;
  const long count = argc > 1 ? std::atol(argv[1]) : 10000;
  const long dimension = argc > 2 ? std::atol(argv[2]) : 784;
  const long length = argc > 3 ? std::atol(argv[3]) : 32 * dimension;
  const int threads = argc > 4 ? std::atoi(argv[4]) : 2;
  if (count < 1 || dimension < 1 || dimension > max_fly_dimension || length < 1 ||
      length > max_fly_hash_length || threads < 1) {
    std::fprintf(stderr, "usage: %s [VECTORS [DIMENSION [HASH-LENGTH [THREADS]]]]\n", argv[0]);
    return 2;
  }
  const auto d = static_cast<uint32_t>(dimension), n = static_cast<uint32_t>(length);
  return bench::run({d, n, fly_share(n), fly_share(d), 1}, static_cast<size_t>(count), threads);
}
