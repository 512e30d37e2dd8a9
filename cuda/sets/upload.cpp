#include "cuda/sets/upload.hpp"

#include <algorithm>

namespace simjoin::gpu {
namespace {

// The first capacity of an array whose final size is unknown.
constexpr size_t first_capacity = size_t{16} << 20;

}  // namespace

size_t grown_capacity(size_t capacity, size_t needed, size_t left) {
  const size_t ample = std::max({needed, first_capacity, capacity * 2});
  if (ample <= left || needed >= left) return ample <= left ? ample : needed;
  return needed + (left - needed) / 2;
}

void UploadedBytes::reserve(size_t bytes) {
  if (bytes <= device_bytes_.size()) return;
  DeviceBuffer<char> larger(device_, bytes);
  copy_on_device(device_, larger.data(), device_bytes_.data(), size_);
  device_bytes_ = std::move(larger);
}

void UploadedBytes::append(const void *data, size_t bytes) {
  if (bytes == 0) return;
  const size_t needed = size_ + bytes;
  if (needed > device_bytes_.size()) {
    reserve(grown_capacity(device_bytes_.size(), needed, device_.memory_left()));
  }
  copy_to_device(device_, device_bytes_.data() + size_, static_cast<const char *>(data), bytes);
  size_ += bytes;
}

// Waits for all uploads, because they read from the blocks.
UploadedSide::~UploadedSide() {
  if (!in_flight_.empty()) cudaStreamSynchronize(device_.stream());
}

void UploadedSide::append(const SharedBlock &block, const SetSlice &slice) {
  ++blocks;
  if (!lock_pages(block->piece(), why_pageable)) ++pageable_blocks;
  while (in_flight_.size() >= most_in_flight) {
    in_flight_.front().uploaded->wait();
    in_flight_.pop_front();
  }
  in_flight_.push_back({block, std::make_unique<Event>()});
  if (slice.token_count > 0) wide = slice.wide();
  tokens.append(slice.tokens, slice.token_bytes());
  lengths.append(slice.lengths, slice.rows * sizeof(uint32_t));
  in_flight_.back().uploaded->record(device_.stream());
  rows += slice.rows;
  total += slice.token_count;
  longest = std::max(longest, block->longest());
}

void UploadedSide::finish() {
  for (const InFlight &block : in_flight_) block.uploaded->wait();
  in_flight_.clear();
}

}  // namespace simjoin::gpu
