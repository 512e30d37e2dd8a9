// Bitmap signatures of ordered sets, laid out for the binary tensor core instruction.
#pragma once

#include <cstdint>

#include "cuda/base/device.hpp"
#include "cuda/sets/collection.hpp"
#include "cuda/sets/signature_layout.hpp"

namespace simjoin::gpu {

// Sets whose sizes and excesses are summed up together; the filter has one constant for each pair of blocks.
inline constexpr uint32_t signature_block = 64;
// Signatures are padded with empty ones to a multiple of this, and by as many more.
inline constexpr uint32_t signature_padding = 512;

// What the kernels see of a table. Numbers are relative to `first`.
struct SignatureView {
  const uint32_t *words;         // see signature_word()
  const uint32_t *excess;        // stored tokens of a set beyond the bits set
  const uint32_t *block_excess;  // the largest of each block
  const uint32_t *block_size;    // the smallest set of each block
  uint32_t first;
  uint32_t sets;
  uint32_t steps;
};

// The signatures of the sets [first, first + sets) of a side.
class SignatureTable {
 public:
  SignatureTable(Device &device, const DeviceCollection &collection, const DeviceSide &side, uint32_t first,
                 uint32_t sets, const SignatureLayout &layout);

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

// Returns where a set's words of one step are: eight adjacent ones, and 64 of the eight sets that they are
// stored with.
SIMJOIN_HOST_DEVICE inline uint64_t signature_row(uint64_t set, uint32_t steps, uint32_t step) {
  return (((set >> 3) * steps + step) * 8 + (set & 7)) * step_words;
}

// Returns which of these is word `word`: of eight sets, the last four have their halves swapped, which is how
// warpgroup instructions read rows of 32 bytes from shared memory without bank conflicts.
SIMJOIN_HOST_DEVICE inline uint32_t word_in_row(uint64_t set, uint32_t word) {
  return word ^ static_cast<uint32_t>(set & 4);
}

}  // namespace simjoin::gpu
