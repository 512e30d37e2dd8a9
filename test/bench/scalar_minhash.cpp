#include "bench/scalar_minhash.hpp"

#include <algorithm>

namespace simjoin::bench {

void scalar_values(const Permutation *permutations, size_t count, const uint32_t *hashes, size_t hash_count,
                   uint32_t *values) {
  __extension__ using Wide = unsigned __int128;
  for (size_t p = 0; p < count; ++p) {
    const Permutation permutation = permutations[p];
    uint32_t least = values[p];
    for (size_t i = 0; i < hash_count; ++i) {
      const Wide product = Wide{permutation.a} * hashes[i] + permutation.b;
      uint64_t rest = (static_cast<uint64_t>(product) & mersenne61) + static_cast<uint64_t>(product >> 61);
      if (rest >= mersenne61) rest -= mersenne61;
      least = std::min(least, static_cast<uint32_t>(rest));
    }
    values[p] = least;
  }
}

}  // namespace simjoin::bench
