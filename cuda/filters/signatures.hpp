// Bitmap signatures of ordered sets, in the layout of the binary tensor core instruction.
#pragma once

#include <cstdint>

#include "cuda/base/device.hpp"
#include "cuda/sets/collection.hpp"
#include "cuda/sets/signature_layout.hpp"

namespace simjoin::gpu {

// Sets of a block. The filter has one bound for each pair of blocks, from their sizes and excesses.
inline constexpr uint32_t signature_block = 64;
// A table is padded with empty signatures to a multiple of this, and then by at least this many more.
inline constexpr uint32_t signature_padding = 512;

// Returns the signatures of a table of `sets` sets, with the padding.
inline uint64_t padded_signatures(uint32_t sets) {
  return (uint64_t{sets} / signature_padding + 2) * signature_padding;
}

// A table, as kernels see it. Numbers are relative to `first`.
struct SignatureView {
  const uint32_t *words;         // see signature_row()
  const uint32_t *excess;        // by set: stored tokens without a bit, those that the layout counts left out
  const uint32_t *block_excess;  // by block: the largest excess
  const uint32_t *block_size;    // by block: the smallest set size
  uint32_t first;
  uint32_t sets;
  uint32_t steps;
};

// The signatures of the sets [first, first + sets) of a side.
class DeviceSignatureTable {
 public:
  DeviceSignatureTable(Device &device, const DeviceCollection &collection, const DeviceSide &side,
                       uint32_t first, uint32_t sets, const DeviceSignatureLayout &layout);

  SignatureView view() const {
    return {words_.data(), excess_.data(), block_excess_.data(), block_size_.data(), first_, sets_, steps_};
  }

 private:
  uint32_t first_;
  uint32_t sets_;
  uint32_t steps_;
  DeviceBuffer<uint32_t> words_;
  DeviceBuffer<uint32_t> excess_;
  DeviceBuffer<uint32_t> block_excess_;
  DeviceBuffer<uint32_t> block_size_;
};

// Returns the place of a set's words of one step. A set's eight words are adjacent, and so are the 64 words
// of eight sets.
SIMJOIN_HOST_DEVICE inline uint64_t signature_row(uint64_t set, uint32_t steps, uint32_t step) {
  return (((set >> 3) * steps + step) * 8 + (set & 7)) * step_words;
}

// Returns the place of `word` within the row. In four of eight sets the halves are swapped, so that warpgroup
// instructions read rows of 32 bytes from shared memory without bank conflicts.
SIMJOIN_HOST_DEVICE inline uint32_t word_in_row(uint64_t set, uint32_t word) {
  return word ^ static_cast<uint32_t>(set & 4);
}

}  // namespace simjoin::gpu
