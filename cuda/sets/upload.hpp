// The input of a join on its way to the device. Recorded blocks are page-locked and uploaded as they are,
// while the next blocks fill.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "core/sets/set_blocks.hpp"
#include "cuda/base/device.hpp"
#include "cuda/base/page_locked.hpp"

namespace simjoin::gpu {

// Returns the new size in bytes of an array that has `capacity` and needs `needed`. `left` is the device
// memory left beside the old array. The array grows by at least half of its size or half of what is left, so
// that repeated appends copy little.
size_t grown_capacity(size_t capacity, size_t needed, size_t left);

// A growing array in device memory that is appended to from the host.
class UploadedBytes {
 public:
  explicit UploadedBytes(Device &device) : device_(device) {}

  // Makes room for `bytes` bytes in all, and no more.
  void reserve(size_t bytes);
  // Appends in stream order. `data` must stay valid until the copy is done.
  void append(const void *data, size_t bytes);
  size_t bytes() const { return size_; }
  const char *data() const { return device_bytes_.data(); }
  // Frees the device memory.
  void reset() noexcept { device_bytes_.reset(); }

 private:
  Device &device_;
  DeviceBuffer<char> device_bytes_;
  size_t size_ = 0;
};

// The sets of one side: all tokens one after another, and the length of each row.
class UploadedSide {
 public:
  explicit UploadedSide(Device &device) : tokens(device), lengths(device), device_(device) {}
  ~UploadedSide();
  UploadedSide(const UploadedSide &) = delete;
  UploadedSide &operator=(const UploadedSide &) = delete;

  // Appends the rows of a slice of `block`. The block is kept until they are uploaded.
  void append(const SharedBlock &block, const SetSlice &slice);
  // Waits for the uploads.
  void finish();

  UploadedBytes tokens;
  UploadedBytes lengths;  // one uint32_t per row
  uint32_t rows = 0;
  uint64_t total = 0;    // tokens
  uint32_t longest = 0;  // an upper bound of the tokens of a row
  bool wide = false;
  uint32_t blocks = 0;
  uint32_t pageable_blocks = 0;  // blocks whose memory could not be page-locked
  std::string why_pageable;      // the reason for the last of them

 private:
  static constexpr size_t most_in_flight = 4;

  struct InFlight {
    SharedBlock block;
    std::unique_ptr<Event> uploaded;
  };
  Device &device_;
  std::deque<InFlight> in_flight_;
};

}  // namespace simjoin::gpu
