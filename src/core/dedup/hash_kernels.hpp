// The vectorised hash of a set of integers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simjoin {

// The sums of two 32-bit hashes of tokens, which are the same for any order of the tokens.
struct HashSums {
  uint32_t one = 0;
  uint32_t other = 0;

  bool operator==(const HashSums &) const = default;
  HashSums &operator+=(const HashSums &more) {
    one += more.one;
    other += more.other;
    return *this;
  }
};

HashSums hash_sums(const int32_t *tokens, size_t count);

}  // namespace simjoin
