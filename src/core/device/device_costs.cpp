#include "core/device/device_costs.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/costs.hpp"

namespace simjoin {
namespace {

// The GPU on which costs were measured.
constexpr GpuTraits measured{90, 132, 1.98, 4917};

// The pairs of 256-bit signatures that a processor compares in a second for each GHz, by the kernel that
// cuda/filters/bitmap/bitmap_filter takes on these devices. The figures follow from those of an H200 in
// cuda/engine/gpu_choice. The tensor cores of 8.0 are assumed to be like those of the H200 under the same
// instructions. Those of 8.6 to 8.9 do half as many binary operations in a cycle. From 10.0 on there are
// none. Ordinary cores count bits at the same rate in all of these.
struct DeviceClass {
  int least_capability;
  double pairs_on_h200;  // in a millisecond, for a device as large as an H200
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
  return std::min(1.0, load.tokens / std::max(1.0, load.rows[0] + load.rows[1]) / costs::join::full_size);
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
  const double shared = load.tokens * costs::join::cpu_token_work +
                        pairs_of(load) * costs::join::cpu_pair_work * apart * apart * size * size;
  const double sets = load.rows[0] + load.rows[1];
  return (costs::join::cpu_join + load.tokens * costs::join::cpu_token + sets * costs::join::cpu_set +
          shared / threads) *
         1e-6;
}

double gpu_join_ms(const JoinLoad &load, const GpuSlowdown &slowdown) {
  const double sets = load.rows[0] + load.rows[1];
  const double build = load.tokens * costs::join::gpu_token + sets * costs::join::gpu_set;
  return (costs::join::gpu_join + build * slowdown.work) * 1e-6 + gpu_compare_ms(load, slowdown);
}

double gpu_compare_ms(const JoinLoad &load, const GpuSlowdown &slowdown) {
  return pairs_of(load) * costs::join::gpu_pair * apart(load) * size_of(load) * slowdown.compare * 1e-6;
}

int gpus_that_pay(double one_ms, double copy_ms, int started, int most) {
  int best = 1;
  double best_ms = one_ms - costs::join::least_saving_ms;
  for (int gpus = 2; gpus <= most; ++gpus) {
    const double ms = one_ms / gpus + copy_ms * (gpus - 1) + (gpus > started ? costs::gpu_start_ms : 0);
    if (ms < best_ms) {
      best = gpus;
      best_ms = ms;
    }
  }
  return best;
}

}  // namespace simjoin
