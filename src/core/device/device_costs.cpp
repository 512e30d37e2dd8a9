#include "core/device/device_costs.hpp"

#include <algorithm>
#include <cmath>

namespace simjoin {
namespace {

// What a join takes, in nanoseconds: a token and a set on the thread that adds them, and a token on all
// threads; a pair of sets of `full_size` tokens at a threshold near 0 on all threads, falling with the square
// of the size and of 1 - threshold. Fitted by test/bench/fit_devices to joins of 1,000 to 3,000,000 sets of
// the shapes dblp, kosarak, bms, enron, livejournal, twitter and aol at 0.9, 0.7 and 0.5 on 16 and on 4
// threads beside an H200. What joins take differs by a factor of ten where these are all equal: the fit is
// for the choice of the device. cpu_join_ns is less than fitted, so that tiny joins stay on the CPU;
// cpu_pair_work_ns is more than fitted (1.4), since a long join that stays on the CPU loses more than the
// start of a GPU: 80,000 sets of 60 of 4,000 tokens take one thread 2.7 s at 0.6, where 1.4 would promise
// less than the 0.4 s of the start.
constexpr double cpu_join_ns = 8.3e5;
constexpr double cpu_token_ns = 11, cpu_set_ns = 35;
constexpr double cpu_token_work_ns = 1.1, cpu_pair_work_ns = 1.8;
constexpr double full_size = 88;
// The same joins, and some of up to 10,000,000 sets, on that GPU, uploads included, in a process that it is
// set up for.
constexpr double gpu_join_ns = 9.2e5;
constexpr double gpu_token_ns = 1.1, gpu_set_ns = 5.7, gpu_pair_ns = 1.8e-4;

// That GPU.
constexpr GpuTraits measured{90, 132, 1.98, 4917};

// Pairs of 256-bit signatures that a processor compares in a second for each GHz, by the kernel that
// cuda/filters/bitmap/bitmap_filter takes on these devices: from what cuda/engine/gpu_choice says of an H200.
// The tensor cores of 8.0 are taken to be like those of the H200 under the same instructions; those of 8.6
// to 8.9 do half as many binary operations in a cycle. From 10.0 on there are none, and the ordinary cores
// count bits at the same rate in all of these.
struct DeviceClass {
  int least_capability;
  double pairs_on_h200;  // in a millisecond, were it as large
};
constexpr DeviceClass classes[] = {{0, 3.5e9}, {80, 7e9}, {81, 3.5e9}, {90, 10e9}, {91, 0.35e9}};

double pairs_by(int capability) {
  double pairs = 0;
  for (const DeviceClass &c : classes) {
    if (c.least_capability <= capability) pairs = c.pairs_on_h200;
  }
  return pairs;
}

double pairs_of(const JoinLoad &load) {
  return load.self_join ? load.rows[0] * load.rows[0] / 2 : load.rows[0] * load.rows[1];
}

// Returns the average size of a set, as a share of `full_size`.
double size_of(const JoinLoad &load) {
  return std::min(1.0, load.tokens / std::max(1.0, load.rows[0] + load.rows[1]) / full_size);
}

double apart(const JoinLoad &load) {
  return 1 - (load.measure == Measure::overlap ? 0.5 : std::clamp(load.threshold, 0.0, 1.0));
}

}  // namespace

GpuSlowdown slowdown_of(const GpuTraits &traits) {
  const double cycles = traits.processors * traits.clock_ghz;
  if (cycles <= 0) return {};
  const double slower = measured.processors * measured.clock_ghz / cycles;
  const double memory = traits.memory_gb_s > 0 ? measured.memory_gb_s / traits.memory_gb_s : slower;
  const double kernel = pairs_by(measured.capability) / pairs_by(traits.capability);
  return {std::max({1.0, slower, memory}), std::max(1.0, slower * kernel)};
}

double cpu_join_ms(const JoinLoad &load, double threads) {
  const double size = size_of(load), apart = simjoin::apart(load);
  const double shared =
      load.tokens * cpu_token_work_ns + pairs_of(load) * cpu_pair_work_ns * apart * apart * size * size;
  const double sets = load.rows[0] + load.rows[1];
  return (cpu_join_ns + load.tokens * cpu_token_ns + sets * cpu_set_ns + shared / threads) * 1e-6;
}

double gpu_join_ms(const JoinLoad &load, const GpuSlowdown &slowdown) {
  const double sets = load.rows[0] + load.rows[1];
  const double build = load.tokens * gpu_token_ns + sets * gpu_set_ns;
  const double compare = pairs_of(load) * gpu_pair_ns * apart(load) * size_of(load);
  return (gpu_join_ns + build * slowdown.work + compare * slowdown.compare) * 1e-6;
}

}  // namespace simjoin
