// The device's part of signatures, as the core sees it.
#pragma once

#include "core/signature_device.hpp"

namespace simjoin::gpu {

class CudaSignatures final : public SignatureDevice {
 public:
  std::unique_ptr<DeviceSigner> make_signer(const SignatureHeader &header, size_t memory_limit) override;
  void sort(std::span<SortKey> keys, size_t memory_limit) override;
};

}  // namespace simjoin::gpu
