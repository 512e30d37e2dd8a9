// The signatures of a join by bands, and the hashes of their bands.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/worker_pool.hpp"
#include "core/lsh/lsh_device.hpp"
#include "core/lsh/lsh_join.hpp"
#include "core/minhash/minhash.hpp"
#include "core/minhash/signature_device.hpp"

namespace simjoin {

class LshSigner {
 public:
  LshSigner(const LshSpec &spec, LshDevice &device)
      : spec_(spec), device_(device), hasher_(spec.permutations, spec.seed) {}

  // Writes the hashes of all bands of sets of token hashes, set by set. Where pairs are not verified it also
  // writes the values of their signatures; otherwise `values` is not used.
  void sign(const SetArrays<uint32_t> &sets, WorkerPool &pool, uint32_t *values, uint64_t *hashes);
  // The same for sets with weights, on the CPU.
  void sign(const SetArrays<WeightedToken> &sets, WorkerPool &pool, uint32_t *values, uint64_t *hashes) const;

 private:
  void sign_on_gpu(GpuBackend &gpu, const SetArrays<uint32_t> &sets, WorkerPool &pool, uint32_t *values,
                   uint64_t *hashes);
  void sign_on_cpu(const SetArrays<uint32_t> &sets, WorkerPool &pool, uint32_t *values,
                   uint64_t *hashes) const;
  template <class Token, class Hasher>
  void sign_rows(const SetArrays<Token> &sets, size_t begin, size_t end, Hasher &hasher, const StopFlag &stop,
                 uint32_t *values, uint64_t *hashes) const;
  void hash_bands(const uint32_t *values, uint64_t *hashes) const;

  const LshSpec spec_;
  LshDevice &device_;
  const MinHasher hasher_;
  std::unique_ptr<DeviceSigner> gpu_signer_;  // null before its first use
};

}  // namespace simjoin
