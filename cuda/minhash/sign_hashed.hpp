// MinHash on the device: the least values of sets of hashed tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "core/minhash/minhash_plan.hpp"
#include "core/minhash/minhash_signature.hpp"
#include "core/minhash/minhash_table.hpp"
#include "cuda/base/device.hpp"
#include "cuda/minhash/sign_layout.hpp"

namespace simjoin::gpu {

// The permutations of a signer, in device memory.
class DevicePermutations {
 public:
  DevicePermutations(Device &device, std::span<const Permutation> permutations);

  // The arrays that kernels read: those of PermutationTable, padded to whole blocks of 32 groups.
  struct View {
    const uint32_t *a_low;
    const uint32_t *a_high;
    const uint64_t *b;
    const Permutation *inverses;
    const uint32_t *numbers;
    const uint32_t *flips;
    uint32_t blocks;
  };
  const View &view() const { return view_; }
  size_t group() const { return group_; }

 private:
  size_t group_;
  DeviceBuffer<uint32_t> a_low_, a_high_, numbers_, flips_;
  DeviceBuffer<uint64_t> b_;
  DeviceBuffer<Permutation> inverses_;
  View view_;
};

// Writes the values of all sets of a round. Values of empty sets are all ones. Calls `pause` between launches
// of bounded work.
void sign_hashed(const Device &device, const DevicePermutations &permutations, const RoundView &round,
                 const uint32_t *hashes, const std::function<void()> &pause);

// Writes the hash of each band of each set.
void hash_bands(const Device &device, const SignatureHeader &header, const BandPlan &plan,
                const RoundView &round, uint64_t *hashes);

}  // namespace simjoin::gpu
