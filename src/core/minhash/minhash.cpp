#include "core/minhash/minhash.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "core/minhash/minhash_family.hpp"
#include "core/minhash/minhash_kernels.hpp"

namespace simjoin {

uint64_t token_identity(std::string_view token) {
  return XXH3_64bits(token.data(), token.size());
}

MinHasher::MinHasher(uint32_t permutations, uint64_t seed) : MinHasher(permutations_of(seed, permutations)) {}

MinHasher::MinHasher(std::vector<Permutation> permutations)
    : permutations_(std::move(permutations)), table_(permutations_, permutation_block) {}

void MinHasher::start(uint32_t *values) const {
  std::fill_n(values, permutations_.size(), UINT32_MAX);
}

void MinHasher::add(const uint32_t *hashes, size_t count, uint32_t *values) const {
  for (size_t group = 0; group < table_.groups(); ++group) {
    const size_t first = group * permutation_block;
    const uint32_t *numbers = table_.numbers() + first;
    size_t used = permutation_block;
    while (numbers[used - 1] == PermutationTable::padding) --used;
    uint32_t least[permutation_block] = {};
    for (size_t i = 0; i < used; ++i) least[i] = values[numbers[i]];
    if (lower_values(table_, group, hashes, count, least)) [[likely]] {
      for (size_t i = 0; i < used; ++i) values[numbers[i]] = least[i];
      continue;
    }
    for (size_t i = 0; i < used; ++i)
      for (size_t j = 0; j < count; ++j)
        values[numbers[i]] = std::min(values[numbers[i]], permuted(permutations_[numbers[i]], hashes[j]));
  }
}

void MinHasher::sign(std::span<const uint32_t> hashes, const StopFlag &stop, uint32_t *values) const {
  const size_t at_once = std::max<size_t>(1, evaluations_per_look / permutations_.size());
  start(values);
  for (size_t begin = 0; begin < hashes.size(); begin += at_once) {
    stop.check();
    add(hashes.data() + begin, std::min(at_once, hashes.size() - begin), values);
  }
}

void MinHasher::add_by_definition(const uint32_t *hashes, size_t count, uint32_t *values) const {
  for (size_t i = 0; i < count; ++i)
    for (size_t p = 0; p < permutations_.size(); ++p)
      values[p] = std::min(values[p], permuted(permutations_[p], hashes[i]));
}

}  // namespace simjoin
