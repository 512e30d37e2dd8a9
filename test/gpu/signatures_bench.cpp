// simjoin_gpu_signatures_bench: times signatures on the GPU, from host memory to host memory, and checks some
// of them against the CPU; then the sort of a band's keys and joins by bands, on the CPU and on the GPU.
//   simjoin_gpu_signatures_bench [--only minhash|weighted|sort|join] [--rows N] [--nonzeros N] [--tokens N]
//     [--samples N] [--repeat N] [--passes N] [--profile NAME] [--scale X] [--threshold T]
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "bench/band_join.hpp"
#include "core/base/memory.hpp"
#include "core/base/wall_clock.hpp"
#include "core/device/gpu.hpp"
#include "core/minhash/minhash.hpp"
#include "core/minhash/signature_device.hpp"
#include "core/minhash/weighted_minhash.hpp"
#include "core/sort/parallel_sort.hpp"
#include "cuda/base/gpus.hpp"
#include "cuda/engine/gpu_engine.hpp"
#include "cuda/minhash/signer.hpp"

namespace {

using namespace simjoin;
using Clock = std::chrono::steady_clock;

struct Options {
  size_t rows = 1'000'000;
  size_t nonzeros = 340;
  size_t tokens = 2'400'000;
  uint32_t samples = 128;
  int repeat = 5;
  int passes = 10;                 // of the streamed run; each has rows of its own
  std::string only;                // one part, or empty for all
  std::string profile = "dblp1m";  // of the joins
  double scale = 1, threshold = 0.8;
};

Options options_of(int argc, char **argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const long value = std::atol(argv[i + 1]);
    if (name == "--rows") options.rows = static_cast<size_t>(value);
    if (name == "--nonzeros") options.nonzeros = static_cast<size_t>(value);
    if (name == "--tokens") options.tokens = static_cast<size_t>(value);
    if (name == "--samples") options.samples = static_cast<uint32_t>(value);
    if (name == "--repeat") options.repeat = static_cast<int>(value);
    if (name == "--passes") options.passes = static_cast<int>(value);
    if (name == "--only") options.only = argv[i + 1];
    if (name == "--profile") options.profile = argv[i + 1];
    if (name == "--scale") options.scale = std::atof(argv[i + 1]);
    if (name == "--threshold") options.threshold = std::atof(argv[i + 1]);
  }
  return options;
}

// Writes rows of distinct tokens in ascending order. Small numbers are frequent: the k-th token about as
// k^(-2/3). Each pass has other rows.
void make_rows(const Options &options, int pass, WorkerPool &pool, std::vector<WeightedToken> &rows) {
  rows.resize(options.rows * options.nonzeros);
  pool.parallel(options.rows, [&](int, size_t row) {
    uint64_t state = (static_cast<uint64_t>(pass) * options.rows + row) * 1'000'003 + 17;
    const auto next = [&] { return static_cast<double>(mix64(++state) >> 11) * 0x1p-53; };
    std::vector<uint64_t> tokens;
    while (tokens.size() < options.nonzeros) {
      while (tokens.size() < options.nonzeros)
        tokens.push_back(static_cast<uint64_t>(static_cast<double>(options.tokens) * std::pow(next(), 3)));
      std::sort(tokens.begin(), tokens.end());
      tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    }
    for (size_t i = 0; i < options.nonzeros; ++i)
      rows[row * options.nonzeros + i] = {tokens[i], static_cast<float>(std::exp(2 * next()))};
  });
}

std::vector<size_t> make_ends(const Options &options) {
  std::vector<size_t> ends(options.rows);
  for (size_t i = 0; i < ends.size(); ++i) ends[i] = (i + 1) * options.nonzeros;
  return ends;
}

struct Times {
  double total = 0;   // ms from host memory to host memory
  double kernel = 0;  // ms in kernels
};

// Returns the median of `repeat` runs after a warm-up. Each has a signer of its own.
template <class Sets>
Times time_signer(SignatureFamily family, const Options &options, const Sets &sets, WorkerPool &pool,
                  std::vector<uint32_t> &values) {
  const SignatureHeader header{family, false, full_bits, static_cast<uint16_t>(options.samples), 1};
  std::vector<Times> runs;
  for (int i = 0; i <= options.repeat; ++i) {
    std::fill(values.begin(), values.end(), 0u);
    const auto begin = Clock::now();
    gpu::Signer signer(header, 0);
    signer.sign(sets, pool, values.data());
    if (i > 0) runs.push_back({milliseconds_since(begin), signer.kernel_ms()});
  }
  std::sort(runs.begin(), runs.end(), [](const Times &a, const Times &b) { return a.total < b.total; });
  return runs[runs.size() / 2];
}

// An upper bound of the device's hash evaluations per second, if it ran only their instructions. Those are
// two 32-bit multiply-adds with 64-bit sums, and two shifts and a minimum of a sum. A multiprocessor of
// compute capability 9.0 begins 32 lanes of the former per cycle and, in another pipe, 64 lanes of the
// latter.
struct Ceiling {
  static constexpr double wide_multiplications = 2, wide_lanes_per_cycle = 32;
  static constexpr double others = 3, other_lanes_per_cycle = 64;

  static double evaluations_per_second() {
    int processors = 0, kilohertz = 0;
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
    cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0);
    const double a_cycle =
        std::min(wide_lanes_per_cycle / wide_multiplications, other_lanes_per_cycle / others);
    return processors * a_cycle * kilohertz * 1e3;
  }
};

// Returns whether the sampled rows equal the CPU's.
bool bench_weighted(const Options &options, WorkerPool &pool) {
  std::vector<WeightedToken> rows;
  make_rows(options, 0, pool, rows);
  const std::vector<size_t> ends = make_ends(options);
  std::vector<uint32_t> values(options.rows * options.samples);
  const SetArrays<WeightedToken> sets{rows, ends};
  const double draws = static_cast<double>(rows.size()) * options.samples;
  const Times times = time_signer(SignatureFamily::weighted, options, sets, pool, values);
  std::printf("weighted, %zu rows x %zu: %.1f ms, kernels %.1f ms, %.3g draws/s in kernels\n", options.rows,
              options.nonzeros, times.total, times.kernel, draws / times.kernel * 1e3);
  WeightedSamples state;
  size_t wrong = 0;
  for (size_t row = 0; row < options.rows; row += options.rows / 50 + 1) {
    std::vector<uint32_t> expected(options.samples);
    state.start(options.samples);
    add_weighted(rows.data() + row * options.nonzeros, options.nonzeros, 1, state);
    state.write_values(expected.data());
    wrong += std::memcmp(expected.data(), values.data() + row * options.samples, options.samples * 4) != 0;
  }
  std::printf("  rows unlike the CPU's: %zu\n", wrong);

  gpu::Signer signer({SignatureFamily::weighted, false, full_bits, static_cast<uint16_t>(options.samples), 1},
                     0);
  double seconds = 0;
  for (int pass = 0; pass < options.passes; ++pass) {
    make_rows(options, pass, pool, rows);
    const auto begin = Clock::now();
    signer.sign(sets, pool, values.data());
    seconds += milliseconds_since(begin) / 1e3;
  }
  std::printf("weighted, streamed, %zu rows: %.2f s, %zu tokens in the table\n",
              options.rows * static_cast<size_t>(options.passes), seconds, signer.cached_tokens());
  return wrong == 0;
}

// Returns whether the sampled rows equal the CPU's.
bool bench_hashed(const Options &options, WorkerPool &pool) {
  std::vector<uint32_t> hashes(options.rows * options.nonzeros);
  pool.parallel(options.rows, [&](int, size_t row) {
    for (size_t i = row * options.nonzeros; i < (row + 1) * options.nonzeros; ++i)
      hashes[i] = static_cast<uint32_t>(mix64(i));
  });
  const std::vector<size_t> ends = make_ends(options);
  std::vector<uint32_t> values(options.rows * options.samples);
  const Times times =
      time_signer(SignatureFamily::minhash, options, SetArrays<uint32_t>{hashes, ends}, pool, values);
  const double evaluations = static_cast<double>(hashes.size()) * options.samples;
  const double rate = evaluations / times.kernel * 1e3, ceiling = Ceiling::evaluations_per_second();
  std::printf(
      "minhash, %zu rows x %zu: %.1f ms, kernels %.1f ms, %.3g evaluations/s in kernels, ceiling %.3g, %.0f "
      "%%\n",
      options.rows, options.nonzeros, times.total, times.kernel, rate, ceiling, 100 * rate / ceiling);
  const MinHasher hasher(options.samples, 1);
  size_t wrong = 0;
  for (size_t row = 0; row < options.rows; row += options.rows / 1000 + 1) {
    std::vector<uint32_t> expected(options.samples);
    hasher.start(expected.data());
    hasher.add(hashes.data() + row * options.nonzeros, options.nonzeros, expected.data());
    wrong += std::memcmp(expected.data(), values.data() + row * options.samples, options.samples * 4) != 0;
  }
  std::printf("  rows unlike the CPU's: %zu\n", wrong);
  return wrong == 0;
}

// Times the sort of a band's keys: the fastest of several runs of each size. Returns whether both devices
// agree.
bool bench_sort(WorkerPool &pool) {
  constexpr int repeats = 7;
  MemoryCounter memory;
  bool right = true;
  for (const size_t count : {20'000, 50'000, 100'000, 300'000, 1'000'000, 3'000'000, 10'000'000}) {
    std::vector<SortKey> keys(count), sorted(count);
    for (size_t i = 0; i < count; ++i) {
      keys[i].lo = i;
      keys[i].hi = mix64(i % 8 == 0 ? i / 16 : i);
    }
    double cpu_ms = INFINITY, gpu_ms = INFINITY;
    Buffer<SortKey> on_cpu(memory);
    for (int i = 0; i < repeats; ++i) {
      on_cpu.resize(count);
      std::copy(keys.begin(), keys.end(), on_cpu.begin());
      auto begin = Clock::now();
      sort_keys(on_cpu, pool, memory);
      cpu_ms = std::min(cpu_ms, milliseconds_since(begin));
      begin = Clock::now();
      cuda_backend().signatures()->sort(keys, sorted, pool, 0);
      gpu_ms = std::min(gpu_ms, milliseconds_since(begin));
    }
    const bool same = std::memcmp(on_cpu.data(), sorted.data(), count * sizeof(SortKey)) == 0;
    right &= same;
    std::printf("sort of %zu keys: CPU %.2f ms (%d threads), GPU %.2f ms%s\n", count, cpu_ms, pool.workers(),
                gpu_ms, same ? "" : "  WRONG");
  }
  return right;
}

// Returns whether the joins are correct.
bool bench_join(const Options &options) {
  set_gpu_backend(&cuda_backend());
  const bench::BandJoin join(options.profile, options.scale, options.threshold,
                             static_cast<int>(std::thread::hardware_concurrency()));
  bool right = true;
  for (const Device device : {Device::cpu, Device::gpu, Device::automatic})
    right &= join.run(device, options.repeat);
  set_gpu_backend(nullptr);
  return right;
}

}  // namespace

int main(int argc, char **argv) {
  const Options options = options_of(argc, argv);
  std::string reason;
  if (!gpu_available(&reason)) {
    std::printf("no GPU to measure: %s\n", reason.c_str());
    return 0;
  }
  cudaFree(nullptr);  // sets the device up
  const StopFlag stop;
  WorkerPool pool(static_cast<int>(std::thread::hardware_concurrency()), stop);
  const auto wanted = [&](const char *part) { return options.only.empty() || options.only == part; };
  bool right = true;
  if (wanted("minhash")) right &= bench_hashed(options, pool);
  if (wanted("weighted")) right &= bench_weighted(options, pool);
  if (wanted("sort")) right &= bench_sort(pool);
  if (wanted("join")) right &= bench_join(options);
  return right ? 0 : 1;
}
