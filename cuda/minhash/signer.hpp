// Signatures of many sets on the device, in rounds. While one round is computed, the next one is copied to
// page-locked memory and uploaded, and the last one is downloaded.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/minhash/minhash_family.hpp"
#include "core/minhash/signature_device.hpp"
#include "cuda/base/device.hpp"
#include "cuda/base/page_locked.hpp"
#include "cuda/base/side_stream.hpp"
#include "cuda/minhash/sign_hashed.hpp"
#include "cuda/minhash/sign_weighted.hpp"

namespace simjoin::gpu {

// An array of a round, in page-locked and in device memory.
template <typename T>
struct RoundArray {
  PinnedBuffer<T> host;
  DeviceBuffer<T> device;

  // Makes room for `size` elements. Returns whether the arrays grew; then their elements are undefined.
  bool reserve(Device &on, size_t size) {
    if (size <= host.size()) return false;
    host = PinnedBuffer<T>();
    device.reset();
    host = PinnedBuffer<T>(size + size / 8);
    device = DeviceBuffer<T>(on, host.size());
    return true;
  }
};

// Upper limits of a round. An H200 hides the copies behind the kernels from about half of them on. A larger
// set is a round of its own. If memory is short, rounds are smaller.
struct RoundLimits {
  size_t tokens = size_t{4} << 20;
  size_t values = size_t{16} << 20;
};

class Signer final : public DeviceSigner {
 public:
  Signer(const SignatureHeader &header, size_t memory_limit, const RoundLimits &limits = {});
  // Uses `permutations` instead of those of the header's seed.
  Signer(const SignatureHeader &header, std::span<const Permutation> permutations, size_t memory_limit,
         const RoundLimits &limits = {});
  ~Signer() override;

  void sign(const SetArrays<uint32_t> &sets, WorkerPool &pool, uint32_t *values) override;
  void sign(const SetArrays<WeightedToken> &sets, WorkerPool &pool, uint32_t *values) override;
  void hash_bands(const SetArrays<uint32_t> &sets, const BandPlan &plan, WorkerPool &pool,
                  uint64_t *hashes) override;
  std::string device() const override { return device_.name(); }
  size_t memory_peak() const override { return device_.memory_peak(); }

  // Milliseconds of kernels so far, and tokens in the table of random numbers.
  double kernel_ms() const { return kernel_ms_; }
  size_t cached_tokens() const { return draws_ ? draws_->tokens() : 0; }

 private:
  struct Round;
  // The destination of results: either the values or the hashes of bands.
  struct Output {
    uint32_t *values = nullptr;
    uint64_t *bands = nullptr;
    BandPlan plan{};
  };

  template <class Token>
  void run(const SetArrays<Token> &sets, WorkerPool &pool, const Output &output);
  template <class Token>
  size_t cut(Round &round, const SetArrays<Token> &sets, size_t first) const;
  void reserve(Round &round, bool weighted, const Output &output);
  void stage(Round &round, const SetArrays<uint32_t> &sets, WorkerPool &pool);
  void stage(Round &round, const SetArrays<WeightedToken> &sets, WorkerPool &pool);
  void submit(Round &round, const SetArrays<uint32_t> &sets, WorkerPool &pool, const Output &output);
  void submit(Round &round, const SetArrays<WeightedToken> &sets, WorkerPool &pool, const Output &output);
  void upload(Round &round);
  void end_kernels(Round &round, const Output &output);
  void finish(Round &round, WorkerPool &pool, const Output &output);
  RoundView view(const Round &round) const;

  const SignatureHeader header_;
  Device device_;
  const RoundLimits limits_;
  DevicePermutations permutations_;
  std::optional<DrawTable> draws_;  // for weighted sets, from the first round on
  SideStream in_, out_;
  Event allocated_;
  std::unique_ptr<Round> rounds_[2];
  double kernel_ms_ = 0;
};

}  // namespace simjoin::gpu
