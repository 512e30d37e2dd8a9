#include "cuda/upload.hpp"

#include <algorithm>
#include <memory>

namespace simjoin::gpu {

void UploadedBytes::append(const void *data, size_t bytes) {
  const char *from = static_cast<const char *>(data);
  while (bytes > 0) {
    if (ring_.empty() || filled_ == chunk_bytes) next_chunk();
    const size_t count = std::min(bytes, chunk_bytes - filled_);
    std::memcpy(ring_[current_]->bytes.data() + filled_, from, count);
    filled_ += count;
    from += count;
    bytes -= count;
  }
}

void UploadedBytes::finish() {
  if (filled_ > 0) send();
}

// Sends the current chunk and makes the next one ready to be filled.
void UploadedBytes::next_chunk() {
  if (filled_ > 0) send();
  if (ring_.size() < chunks) {
    ring_.push_back(std::make_unique<Chunk>());
    current_ = ring_.size() - 1;
    return;
  }
  current_ = (current_ + 1) % chunks;
  if (ring_[current_]->in_flight) ring_[current_]->uploaded.wait();
}

void UploadedBytes::send() {
  reserve(size_ + filled_);
  Chunk &chunk = *ring_[current_];
  copy_to_device(device_, device_bytes_.data() + size_, chunk.bytes.data(), filled_);
  chunk.uploaded.record(device_.stream());
  chunk.in_flight = true;
  size_ += filled_;
  filled_ = 0;
}

void UploadedBytes::reserve(size_t bytes) {
  if (bytes <= device_bytes_.size()) return;
  DeviceBuffer<char> larger(device_, std::max({bytes, first_capacity, device_bytes_.size() * 2}));
  copy_on_device(device_, larger.data(), device_bytes_.data(), size_);
  device_bytes_ = std::move(larger);
}

}  // namespace simjoin::gpu
