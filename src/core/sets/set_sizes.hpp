// The sizes of the sets of a side, by row. A join keeps nothing else of each set in memory to its end.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/base/check.hpp"
#include "core/base/memory.hpp"

namespace simjoin {

// Each size takes as many bits as the largest of 64 neighbouring sizes needs.
class SetSizes {
 public:
  explicit SetSizes(MemoryCounter &memory) : words_(memory), begins_(memory) {}

  size_t size() const { return size_; }
  void push_back(uint32_t size) {
    if (size_ % block == 0) begins_.push_back(static_cast<uint32_t>(words_.size()));
    last_[size_++ % block] = size;
    largest_ = std::max(largest_, size);
    filled_ += size > 0;
    tokens_ += size;
    if (size_ % block == 0) pack();
  }
  void shrink() {
    words_.shrink();
    begins_.shrink();
  }
  uint32_t operator[](size_t row) const {
    SIMJOIN_CHECK(row < size_);
    const Packed packed = block_at(row / block);
    return packed.words == nullptr ? last_[row % block] : packed[row % block];
  }
  // Calls visit(row, size) for the rows [begin, end) in order: faster than row by row.
  template <typename Visit>
  void visit(size_t begin, size_t end, Visit &&visit) const {
    SIMJOIN_CHECK(begin <= end && end <= size_);
    for (size_t row = begin; row < end;) {
      const Packed packed = block_at(row / block);
      const size_t until = std::min(end, (row / block + 1) * block);
      if (packed.words == nullptr) {
        for (; row < until; ++row) visit(row, last_[row % block]);
      } else {
        for (; row < until; ++row) visit(row, packed[row % block]);
      }
    }
  }
  // Returns the bytes that the sizes take, packed.
  size_t bytes() const { return words_.size() * sizeof(uint64_t) + begins_.size() * sizeof(uint32_t); }
  // Returns the largest size; 0 if there is none.
  uint32_t largest() const { return largest_; }
  // Returns the number of sets that are not empty.
  size_t filled() const { return filled_; }
  // Returns the sum of all sizes.
  uint64_t tokens() const { return tokens_; }

 private:
  // The rows of a block. With 64, a block takes as many words as each of its sizes takes bits.
  static constexpr size_t block = 64;

  // The sizes of a whole block.
  struct Packed {
    const uint64_t *words;  // null if the block is not packed yet
    size_t bits;            // of each size

    uint32_t operator[](size_t i) const {
      if (bits == 0) return 0;
      const size_t at = i * bits;
      const uint64_t *const word = words + at / 64;
      uint64_t size = *word >> at % 64;
      if (at % 64 + bits > 64) size |= word[1] << (64 - at % 64);
      return static_cast<uint32_t>(size & ((uint64_t{1} << bits) - 1));
    }
  };

  Packed block_at(size_t number) const {
    if (number == size_ / block) return {nullptr, 0};
    const size_t begin = begins_[number];
    const size_t end = number + 1 < begins_.size() ? begins_[number + 1] : words_.size();
    return {words_.data() + begin, end - begin};
  }

  // Packs the sizes of a whole block.
  void pack() {
    uint32_t all = 0;
    for (const uint32_t size : last_) all |= size;
    const auto bits = static_cast<size_t>(std::bit_width(all));
    if (bits == 0) return;
    uint64_t *const words = words_.extend(bits);
    std::fill_n(words, bits, 0);
    for (size_t i = 0; i < block; ++i) {
      const size_t at = i * bits;
      words[at / 64] |= uint64_t{last_[i]} << at % 64;
      if (at % 64 + bits > 64) words[at / 64 + 1] |= uint64_t{last_[i]} >> (64 - at % 64);
    }
  }

  Buffer<uint64_t> words_;
  Buffer<uint32_t> begins_;  // where each block begins in the words
  uint32_t last_[block];     // sizes that have not been packed
  size_t size_ = 0;
  size_t filled_ = 0;
  uint64_t tokens_ = 0;
  uint32_t largest_ = 0;
};

}  // namespace simjoin
