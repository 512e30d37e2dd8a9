// The sizes of the sets of a side, by row: the one thing of each set that a join keeps in memory to its end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/memory.hpp"

namespace simjoin {

// Two bytes a set; the sizes that do not fit are listed.
class SetSizes {
 public:
  explicit SetSizes(MemoryCounter &memory) : short_(memory), long_(memory) {}

  size_t size() const { return short_.size(); }
  void push_back(uint32_t size) {
    if (size >= listed) long_.push_back(uint64_t{short_.size()} << 32 | size);
    short_.push_back(static_cast<uint16_t>(std::min(size, listed)));
  }
  void shrink() {
    short_.shrink();
    long_.shrink();
  }
  uint32_t operator[](size_t row) const {
    const uint32_t size = short_[row];
    return size != listed ? size : listed_size(row);
  }
  // Returns the largest size; 0 where there is none.
  uint32_t largest() const {
    uint32_t most = 0;
    for (const uint16_t size : short_) most = std::max<uint32_t>(most, size);
    for (const uint64_t entry : long_) most = std::max(most, static_cast<uint32_t>(entry));
    return most;
  }

 private:
  static constexpr uint32_t listed = UINT16_MAX;

  uint32_t listed_size(size_t row) const {
    const uint64_t *const entry = std::lower_bound(long_.begin(), long_.end(), uint64_t{row} << 32);
    return static_cast<uint32_t>(*entry);
  }

  Buffer<uint16_t> short_;
  Buffer<uint64_t> long_;  // row (32 bits), size (32 bits); rows ascending
};

}  // namespace simjoin
