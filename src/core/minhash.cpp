#include "core/minhash.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "core/minhash_family.hpp"
#include "core/minhash_kernels.hpp"

namespace simjoin {

uint64_t token_identity(std::string_view token) {
  return XXH3_64bits(token.data(), token.size());
}

MinHasher::MinHasher(uint32_t permutations, uint64_t seed) : permutations_(permutations) {
  const size_t padded = (permutations + permutation_block - 1) / permutation_block * permutation_block;
  a_low_.resize(padded);
  a_high_.resize(padded);
  b_.resize(padded);
  for (uint32_t i = 0; i < permutations; ++i) {
    const Permutation permutation = permutation_at(seed, i);
    a_low_[i] = permutation.a & ((uint64_t{1} << low_half_bits) - 1);
    a_high_[i] = permutation.a >> low_half_bits;
    b_[i] = permutation.b;
  }
}

void MinHasher::start(uint32_t *values) const {
  std::fill_n(values, permutations_, UINT32_MAX);
}

void MinHasher::add(const uint32_t *hashes, size_t count, uint32_t *values) const {
  const size_t whole = permutations_ / permutation_block * permutation_block;
  lower_values({a_low_.data(), a_high_.data(), b_.data(), whole}, hashes, count, values);
  if (whole == permutations_) return;
  uint32_t rest[permutation_block];
  const size_t left = permutations_ - whole;
  std::copy_n(values + whole, left, rest);
  std::fill(rest + left, rest + permutation_block, UINT32_MAX);
  lower_values({a_low_.data() + whole, a_high_.data() + whole, b_.data() + whole, permutation_block}, hashes,
               count, rest);
  std::copy_n(rest, left, values + whole);
}

void MinHasher::add_by_definition(const uint32_t *hashes, size_t count, uint32_t *values) const {
  for (size_t i = 0; i < count; ++i) {
    for (uint32_t p = 0; p < permutations_; ++p) {
      const Permutation permutation{a_high_[p] << low_half_bits | a_low_[p], b_[p]};
      values[p] = std::min(values[p], permuted(permutation, hashes[i]));
    }
  }
}

}  // namespace simjoin
