// The vectorised loop of MinHash, for the best instruction set of the host (Highway's dynamic dispatch).
#pragma once

#include <cstddef>
#include <cstdint>

namespace simjoin {

// Permutations that are worked on at once: two of the widest vectors.
inline constexpr size_t permutation_block = 16;

// Permutations as arrays, each number in a 64-bit word.
struct PermutationTable {
  const uint64_t *a_low;   // the low half of a
  const uint64_t *a_high;  // the high half
  const uint64_t *b;
  size_t count;  // whole blocks
};

// Lowers values[p] to the least value of the hashes under each permutation p, as `permuted` defines it.
void lower_values(const PermutationTable &table, const uint32_t *hashes, size_t count, uint32_t *values);

}  // namespace simjoin
