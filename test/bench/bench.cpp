// simjoin_bench: times the engine on synthetic collections of the published shapes.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>

#include "bench/benchmark.hpp"
#include "bench/options.hpp"

using namespace simjoin::bench;

int main(int argc, char **argv) {
  try {
    Options options = parse_options(argc, argv);
    if (options.help) {
      std::printf("%s", usage().c_str());
      return 0;
    }
    if (options.baseline_file.empty()) options.baseline_file = SIMJOIN_BENCH_BASELINE;
    if (options.own_file.empty() && std::filesystem::exists(SIMJOIN_BENCH_OWN)) {
      options.own_file = SIMJOIN_BENCH_OWN;
    }
    return Benchmark(options).run() ? 0 : 1;
  } catch (const std::invalid_argument &error) {
    std::fprintf(stderr, "simjoin_bench: %s\n%s", error.what(), usage().c_str());
    return 2;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "simjoin_bench: %s\n", error.what());
    return 1;
  }
}
