// simjoin_gpu_signatures_bench: times signatures on the GPU, from host memory to host memory, and checks some
// of them against the CPU.
//   simjoin_gpu_signatures_bench [--rows N] [--nonzeros N] [--tokens N] [--samples N] [--repeat N] [--passes
//   N]
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

#include "core/minhash.hpp"
#include "core/weighted_minhash.hpp"
#include "cuda/gpu_engine.hpp"
#include "cuda/signer.hpp"

namespace {

using namespace simjoin;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

struct Options {
  size_t rows = 1'000'000;
  size_t nonzeros = 340;
  size_t tokens = 2'000'000;
  uint32_t samples = 128;
  int repeat = 5;
  int passes = 10;  // of the streamed run, whose rows are the same again and again
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
  }
  return options;
}

// Rows of so many different tokens each, in ascending order; small numbers are frequent (the k-th token about
// as k^(-2/3)).
std::vector<WeightedToken> make_rows(const Options &options, WorkerPool &pool) {
  std::vector<WeightedToken> rows(options.rows * options.nonzeros);
  pool.parallel(options.rows, [&](int, size_t row) {
    uint64_t state = row * 1'000'003 + 17;
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
  return rows;
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

// Returns the median run of `repeat`, after one to warm up, each with a signer of its own.
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

// Hash evaluations that the device could make in a second if it did nothing but the instructions of one: two
// 32-bit multiply-adds with 64-bit sums, of which a multiprocessor of compute capability 9.0 begins 32 lanes
// a cycle, and beside them, in another pipe of 64 lanes a cycle, two shifts and a minimum of a sum.
struct Ceiling {
  static constexpr double wide_multiplications = 2, wide_lanes_a_cycle = 32;
  static constexpr double others = 3, other_lanes_a_cycle = 64;

  static double evaluations_a_second() {
    int processors = 0, kilohertz = 0;
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
    cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0);
    const double a_cycle = std::min(wide_lanes_a_cycle / wide_multiplications, other_lanes_a_cycle / others);
    return processors * a_cycle * kilohertz * 1e3;
  }
};

void bench_weighted(const Options &options, WorkerPool &pool) {
  const std::vector<WeightedToken> rows = make_rows(options, pool);
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
  const auto begin = Clock::now();
  for (int i = 0; i < options.passes; ++i) signer.sign(sets, pool, values.data());
  std::printf("weighted, streamed, %zu rows: %.2f s, %zu tokens in the table\n",
              options.rows * static_cast<size_t>(options.passes), milliseconds_since(begin) / 1e3,
              signer.cached_tokens());
}

void bench_hashed(const Options &options, WorkerPool &pool) {
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
  const double rate = evaluations / times.kernel * 1e3, ceiling = Ceiling::evaluations_a_second();
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
  bench_hashed(options, pool);
  bench_weighted(options, pool);
  return 0;
}
