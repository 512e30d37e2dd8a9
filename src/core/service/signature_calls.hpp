// Signatures by the GPU service: both ends of the calls.
#pragma once

#include <memory>
#include <span>

#include "core/minhash/signature_device.hpp"
#include "core/service/served_call.hpp"
#include "core/service/service_call.hpp"

namespace simjoin {

// What sessions have in the place of the GPU's signers. It sorts nothing: a key would go through the socket
// and back, which takes longer than sorting it.
class ServiceSignatures final : public SignatureDevice {
 public:
  explicit ServiceSignatures(Connect connect) : connect_(std::move(connect)) {}

  std::unique_ptr<DeviceSigner> make_signer(const SignatureHeader &header, size_t memory_limit) override;
  bool sorts() const override { return false; }
  size_t sort(std::span<const SortKey>, std::span<SortKey>, WorkerPool &, size_t) override;

 private:
  const Connect connect_;
};

CallResult serve_sign(const Call &call);
CallResult serve_hash_bands(const Call &call);

}  // namespace simjoin
