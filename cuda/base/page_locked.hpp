// Page-locked host memory. Its copies to and from a device are faster and run beside the host's work.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "core/base/check.hpp"
#include "core/base/host_pieces.hpp"
#include "cuda/base/device_use.hpp"

namespace simjoin::gpu {

// Page-locks a piece, unless it already is. Returns whether it is page-locked. If not, `why` gets the reason,
// and copies work all the same. If locking fails, it is tried again without the memory that the process keeps
// page-locked for later.
bool lock_pages(HostPiece &piece, std::string &why);
// Returns how many pieces of host memory are page-locked.
size_t locked_pieces();

// Takes page-locked memory from the process's cache and gives it back there. The cache exists because freeing
// waits for the work of all devices; giving back waits only for the thread's device. `bytes` must be the same
// in both calls.
void *take_pinned(size_t bytes);
void give_pinned_back(void *data, size_t bytes) noexcept;
// Frees the page-locked memory that the process keeps for later, including pieces of host memory.
void free_kept_page_locked() noexcept;

// An array in page-locked host memory.
template <typename T>
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(size_t size) : size_(size) {
    if (size > 0) data_ = static_cast<T *>(take_pinned(size * sizeof(T)));
  }
  ~PinnedBuffer() {
    if (data_ != nullptr) give_pinned_back(data_, size_ * sizeof(T));
  }
  PinnedBuffer(const PinnedBuffer &) = delete;
  PinnedBuffer &operator=(const PinnedBuffer &) = delete;
  PinnedBuffer(PinnedBuffer &&other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PinnedBuffer &operator=(PinnedBuffer &&other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  T *data() const { return data_; }
  size_t size() const { return size_; }
  T &operator[](size_t i) const {
    SIMJOIN_CHECK(i < size_);
    return data_[i];
  }

 private:
  DeviceUse use_;
  T *data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace simjoin::gpu
