// The vectorised loop of MinHash, for the best instruction set of the host (Highway's dynamic dispatch).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/minhash/minhash_table.hpp"

namespace simjoin {

// Permutations that are worked on at once, a group of the table: four of the widest vectors.
inline constexpr size_t permutation_block = 32;

// Lowers least[p], for the permutations p of a group of a table, by the hashes' values. Returns false where
// one of them may be wrong, once in a thousand sets or less.
bool lower_values(const PermutationTable &table, size_t group, const uint32_t *hashes, size_t count,
                  uint32_t *least);

}  // namespace simjoin
