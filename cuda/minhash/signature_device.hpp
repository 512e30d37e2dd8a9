// Signatures on the device, behind the interface of the core.
#pragma once

#include "core/minhash/signature_device.hpp"

namespace simjoin::gpu {

class CudaSignatures final : public SignatureDevice {
 public:
  std::unique_ptr<DeviceSigner> make_signer(const SignatureHeader &header, size_t memory_limit) override;
  size_t sort(std::span<const SortKey> keys, std::span<SortKey> sorted, WorkerPool &pool,
              size_t memory_limit) override;
};

}  // namespace simjoin::gpu
