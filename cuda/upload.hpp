// The input of a join on its way to the device: copied to page-locked chunks that are uploaded while the next
// one fills.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "cuda/device.hpp"

namespace simjoin::gpu {

// A growing array in device memory that is appended to from the host.
class UploadedBytes {
 public:
  explicit UploadedBytes(Device &device) : device_(device) {}

  void append(const void *data, size_t bytes);
  // Uploads what is left; afterwards `data()` is complete once the device's stream gets there.
  void finish();
  size_t bytes() const { return size_ + filled_; }
  const char *data() const { return device_bytes_.data(); }
  // Gives the device memory up.
  void reset() noexcept { device_bytes_.reset(); }

 private:
  static constexpr size_t chunk_bytes = size_t{4} << 20;
  static constexpr size_t chunks = 4;
  static constexpr size_t first_capacity = size_t{64} << 20;

  struct Chunk {
    PinnedBuffer<char> bytes{chunk_bytes};
    Event uploaded;
    bool in_flight = false;
  };
  void next_chunk();
  void send();
  void reserve(size_t bytes);

  Device &device_;
  DeviceBuffer<char> device_bytes_;
  size_t size_ = 0;    // bytes sent
  size_t filled_ = 0;  // bytes in the current chunk
  std::vector<std::unique_ptr<Chunk>> ring_;
  size_t current_ = 0;
};

// One side's sets: all tokens one after the other, and how many each row has.
struct UploadedSide {
  explicit UploadedSide(Device &device) : tokens(device) {}

  UploadedBytes tokens;
  std::vector<uint32_t> lengths;
  uint64_t total = 0;
  uint32_t longest = 0;
};

}  // namespace simjoin::gpu
