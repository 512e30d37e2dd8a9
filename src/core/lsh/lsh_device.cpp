#include "core/lsh/lsh_device.hpp"

#include <algorithm>
#include <utility>

#include "core/minhash/minhash_bulk.hpp"
#include "core/minhash/signature_device.hpp"

namespace simjoin {
namespace {

// Fewer keys are sorted on the CPU, in about the same time. 20,000 keys take an H200 0.28 ms, copies
// included, and 16 threads of its host 0.43; 50,000 take 0.34 and 1.10, a million 1.5 and 6.6.
constexpr size_t least_keys_on_gpu = 50'000;

}  // namespace

void LshDevice::choose(size_t tokens, size_t values, int threads) {
  const SigningCosts costs =
      signing_costs(SignatureFamily::minhash, tokens, values, spec_.permutations, threads);
  attempt_.choose(costs.cpu_ms, costs.gpu_ms);
}

void LshDevice::note_use(const std::string &name, size_t bytes) {
  const std::lock_guard lock(mutex_);
  name_ = name;
  memory_peak_ = std::max(memory_peak_, bytes);
}

void LshDevice::note_cpu() {
  const std::lock_guard lock(mutex_);
  name_.clear();
  memory_peak_ = 0;
}

void LshDevice::sort(Buffer<SortKey> &keys, Buffer<SortKey> &scratch, WorkerPool &pool,
                     MemoryCounter &memory) {
  const auto on_cpu = [&] { sort_keys(keys, scratch, pool, memory); };
  if (keys.size() < least_keys_on_gpu) return on_cpu();
  const auto on_gpu = [&](GpuBackend &gpu) {
    scratch.resize(keys.size());
    const size_t held = gpu.signatures()->sort({keys.data(), keys.size()}, {scratch.data(), scratch.size()},
                                               pool, spec_.gpu_memory_limit);
    std::swap(keys, scratch);
    const std::lock_guard lock(mutex_);
    memory_peak_ = std::max(memory_peak_, held);
  };
  run(on_gpu, on_cpu);
}

void LshDevice::add_to(JoinStats &stats) const {
  const std::lock_guard lock(mutex_);
  stats.device_memory_peak = memory_peak_;
  if (name_.empty())
    stats.gpu_refused = told_reason(attempt_.outcome().refused);
  else
    stats.device = name_;
}

}  // namespace simjoin
