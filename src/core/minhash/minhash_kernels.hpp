// The vectorised loop of MinHash, for the best instruction set of the host (Highway's dynamic dispatch).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/minhash/minhash_table.hpp"

namespace simjoin {

// The permutations of a group of the table, which are worked on at once: four of the widest vectors.
inline constexpr size_t permutation_block = 32;

// Lowers least[p] by the values of the hashes, for the permutations p of a group of a table. Returns false if
// one of them may be wrong, once in a thousand sets or less.
bool lower_values(const PermutationTable &table, size_t group, const uint32_t *hashes, size_t count,
                  uint32_t *least);

}  // namespace simjoin
