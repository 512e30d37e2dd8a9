// MinHash as a loop over one permutation after the other, with which the vectorised loop is compared.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/minhash/minhash_family.hpp"

namespace simjoin::bench {

// Lowers the values by the hashes, one evaluation at a time.
void scalar_values(const Permutation *permutations, size_t count, const uint32_t *hashes, size_t hash_count,
                   uint32_t *values);

}  // namespace simjoin::bench
