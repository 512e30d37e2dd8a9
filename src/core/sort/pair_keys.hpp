// Pairs of ranks with a similarity as numbers of 128 bits, which are sorted.
#pragma once

#include <bit>
#include <cstdint>

#include "core/sort/parallel_sort.hpp"

namespace simjoin {

// A similarity is not negative, and no -0. So its bits have its order.
struct RankedPair {
  uint32_t left;
  uint32_t right;
  double similarity;
};

// Keys in the order of the similarity, the greatest first, then of the left and of the right row.
struct BySimilarity {
  static SortKey key(const RankedPair &pair) {
    return {uint64_t{pair.left} << 32 | pair.right, ~std::bit_cast<uint64_t>(pair.similarity)};
  }
  static RankedPair pair(const SortKey &key) {
    return {static_cast<uint32_t>(key.lo >> 32), static_cast<uint32_t>(key.lo),
            std::bit_cast<double>(~key.hi)};
  }
};

// Keys in the order of the left row, then of the similarity, the greatest first, then of the right row.
struct ByLeft {
  static SortKey key(const RankedPair &pair) {
    const uint64_t descending = ~std::bit_cast<uint64_t>(pair.similarity);
    return {descending << 32 | pair.right, uint64_t{pair.left} << 32 | descending >> 32};
  }
  static RankedPair pair(const SortKey &key) {
    return {static_cast<uint32_t>(key.hi >> 32), static_cast<uint32_t>(key.lo),
            std::bit_cast<double>(~(key.hi << 32 | key.lo >> 32))};
  }
};

}  // namespace simjoin
