// The input of a join on its way to the device: the blocks that the host recorded, page-locked and uploaded
// as they are, while the next ones fill.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "core/sets/set_blocks.hpp"
#include "cuda/base/device.hpp"
#include "cuda/base/page_locked.hpp"

namespace simjoin::gpu {

// Returns how many bytes an array grows to that has room for `capacity` and needs room for `needed`, with
// `left` more bytes of device memory to be had beside the old array. Each time it grows by half at least, or
// by half of what is left, so that what it holds is not copied again and again.
size_t grown_capacity(size_t capacity, size_t needed, size_t left);

// A growing array in device memory that is appended to from the host.
class UploadedBytes {
 public:
  explicit UploadedBytes(Device &device) : device_(device) {}

  // Makes room for so many bytes in all, and no more.
  void reserve(size_t bytes);
  // Appends in the order of the stream: the data must stay until the stream has got there.
  void append(const void *data, size_t bytes);
  size_t bytes() const { return size_; }
  const char *data() const { return device_bytes_.data(); }
  // Gives the device memory up.
  void reset() noexcept { device_bytes_.reset(); }

 private:
  Device &device_;
  DeviceBuffer<char> device_bytes_;
  size_t size_ = 0;
};

// One side's sets: all tokens one after the other, and how many each row has.
class UploadedSide {
 public:
  explicit UploadedSide(Device &device) : tokens(device), lengths(device), device_(device) {}
  ~UploadedSide();
  UploadedSide(const UploadedSide &) = delete;
  UploadedSide &operator=(const UploadedSide &) = delete;

  // Appends the rows of a slice of the block, which is kept until they are uploaded.
  void append(const SharedBlock &block, const SetSlice &slice);
  // Waits for the uploads.
  void finish();

  UploadedBytes tokens;
  UploadedBytes lengths;  // uint32_t a row
  uint32_t rows = 0;
  uint64_t total = 0;    // tokens
  uint32_t longest = 0;  // at least the tokens of each row
  bool wide = false;
  uint32_t blocks = 0;
  uint32_t pageable_blocks = 0;  // those whose memory could not be page-locked
  std::string why_pageable;      // of the last one

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
