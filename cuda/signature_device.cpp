#include "cuda/signature_device.hpp"

#include "cuda/band_sort.hpp"
#include "cuda/signer.hpp"

namespace simjoin::gpu {
namespace {

// Device memory that the process keeps for its next computation.
constexpr size_t kept_memory = size_t{256} << 20;

static_assert(sizeof(SortKey) == sizeof(BandKey));

}  // namespace

std::unique_ptr<DeviceSigner> CudaSignatures::make_signer(const SignatureHeader &header,
                                                          size_t memory_limit) {
  return std::make_unique<Signer>(header, memory_limit);
}

void CudaSignatures::sort(std::span<SortKey> keys, size_t memory_limit) {
  Device device(memory_limit, kept_memory);
  sort_band(device, reinterpret_cast<BandKey *>(keys.data()), keys.size());
}

}  // namespace simjoin::gpu
