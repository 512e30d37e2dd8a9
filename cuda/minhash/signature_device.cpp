#include "cuda/minhash/signature_device.hpp"

#include <algorithm>
#include <cstring>

#include "cuda/base/page_locked.hpp"
#include "cuda/minhash/band_sort.hpp"
#include "cuda/minhash/signer.hpp"

namespace simjoin::gpu {
namespace {

// Keys of a page-locked piece (8 MB), and keys that a worker copies at a time. Not tuned.
constexpr size_t keys_per_piece = size_t{1} << 19;
constexpr size_t keys_per_copy = size_t{1} << 14;

static_assert(sizeof(SortKey) == sizeof(BandKey));

// Copies between pageable memory and the device through two page-locked pieces. Workers fill or empty one
// while the other is being transferred. They check their stop flag at every piece.
class StagedCopy {
 public:
  StagedCopy(Device &device, WorkerPool &pool, size_t count) : device_(device), pool_(pool), count_(count) {
    for (Piece &piece : pieces_) piece.keys = PinnedBuffer<BandKey>(std::min(count, keys_per_piece));
  }

  void to_device(BandKey *to, const SortKey *from) {
    for (size_t i = 0; i < pieces(); ++i) {
      Piece &piece = pieces_[i % 2];
      if (i >= 2) piece.copied.wait();
      copy(piece.keys.data(), from + begin(i), size(i));
      copy_to_device(device_, to + begin(i), piece.keys.data(), size(i));
      piece.copied.record(device_.stream());
    }
  }

  // Returns when all keys have arrived.
  void to_host(SortKey *to, const BandKey *from) {
    for (size_t i = 0; i <= pieces(); ++i) {
      if (i < pieces()) {
        copy_to_host(device_, pieces_[i % 2].keys.data(), from + begin(i), size(i));
        pieces_[i % 2].copied.record(device_.stream());
      }
      if (i == 0) continue;
      const Piece &last = pieces_[(i - 1) % 2];
      last.copied.wait();
      copy(to + begin(i - 1), last.keys.data(), size(i - 1));
    }
  }

 private:
  struct Piece {
    PinnedBuffer<BandKey> keys;
    Event copied;
  };

  size_t pieces() const { return (count_ + keys_per_piece - 1) / keys_per_piece; }
  size_t begin(size_t piece) const { return piece * keys_per_piece; }
  size_t size(size_t piece) const { return std::min(keys_per_piece, count_ - begin(piece)); }

  void copy(void *to, const void *from, size_t count) {
    pool_.parallel((count + keys_per_copy - 1) / keys_per_copy, [&](int, size_t i) {
      const size_t done = i * keys_per_copy, keys = std::min(keys_per_copy, count - done);
      std::memcpy(static_cast<BandKey *>(to) + done, static_cast<const BandKey *>(from) + done,
                  keys * sizeof(BandKey));
    });
  }

  Device &device_;
  WorkerPool &pool_;
  const size_t count_;
  Piece pieces_[2];
};

}  // namespace

std::unique_ptr<DeviceSigner> CudaSignatures::make_signer(const SignatureHeader &header,
                                                          size_t memory_limit) {
  return std::make_unique<Signer>(header, memory_limit);
}

size_t CudaSignatures::sort(std::span<const SortKey> keys, std::span<SortKey> sorted, WorkerPool &pool,
                            size_t memory_limit) {
  if (keys.empty()) return 0;
  Device device(memory_limit);
  DeviceBuffer<BandKey> on_device(device, keys.size());
  StagedCopy copies(device, pool, keys.size());
  copies.to_device(on_device.data(), keys.data());
  sort_band(device, on_device.data(), keys.size());
  copies.to_host(sorted.data(), on_device.data());
  return device.memory_peak();
}

}  // namespace simjoin::gpu
