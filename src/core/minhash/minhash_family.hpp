// The hash families of signatures. Every random number is a function of the seed and a position, so no table
// has to be shared and any device computes the same bits. docs/formats.md specifies them. A change needs a
// new format version (core/minhash/minhash_signature.hpp).
#pragma once

#include <cstdint>

#include "core/base/mix.hpp"

namespace simjoin {

// The use of the random numbers at a position; the last word of their counter.
enum class RandomUse : uint32_t { permutation = 1, weighted_sample = 2, fly_projection = 3 };

// 128 random bits.
struct RandomWords {
  uint32_t word[4];
};

// Returns the random bits of a position: Philox4x32-10 (Salmon et al., Parallel random numbers: as easy as
// 1, 2, 3, 2011), the seed as its key, (low, high, index, use) as its counter.
SIMJOIN_HOST_DEVICE inline RandomWords random_words(uint64_t seed, uint32_t low, uint32_t high,
                                                    uint32_t index, RandomUse use) {
  uint32_t c0 = low, c1 = high, c2 = index, c3 = static_cast<uint32_t>(use);
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0, p1 = uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(p1);
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// Returns the hash of a token's identity (the value of an integer; XXH3 with 64 bits of a text's bytes).
SIMJOIN_HOST_DEVICE inline uint32_t token_hash(uint64_t identity) {
  return static_cast<uint32_t>(mix64(identity) >> 32);
}

inline constexpr uint64_t mersenne61 = (uint64_t{1} << 61) - 1;

// One hash function of the family: h -> the low 32 bits of (a * h + b) mod 2^61 - 1.
struct Permutation {
  uint64_t a;  // 1 to 2^61 - 2
  uint64_t b;  // 0 to 2^61 - 2
};

// Returns permutation `number` of a seed. It does not depend on the number of permutations.
SIMJOIN_HOST_DEVICE inline Permutation permutation_at(uint64_t seed, uint32_t number) {
  const RandomWords random = random_words(seed, 0, 0, number, RandomUse::permutation);
  const uint64_t x = random.word[0] | uint64_t{random.word[1]} << 32;
  const uint64_t y = random.word[2] | uint64_t{random.word[3]} << 32;
  return {1 + x % (mersenne61 - 1), y % mersenne61};
}

// Returns (a * hash + b) mod 2^61 - 1, without a product of more than 64 bits: with a = a1 * 2^29 + a0, the
// product a1 * hash * 2^29 wraps at bit 32 of a1 * hash, since 2^61 is 1.
SIMJOIN_HOST_DEVICE inline uint64_t residue(const Permutation &permutation, uint32_t hash) {
  const uint64_t low = (permutation.a & ((uint64_t{1} << 29) - 1)) * hash;
  const uint64_t high = (permutation.a >> 29) * hash;
  const uint64_t sum = (high >> 32) + ((high << 29) & mersenne61) + low + permutation.b;  // below 2^63
  const uint64_t folded = (sum & mersenne61) + (sum >> 61);
  return folded >= mersenne61 ? folded - mersenne61 : folded;
}

// Returns the value of a token's hash under a permutation.
SIMJOIN_HOST_DEVICE inline uint32_t permuted(const Permutation &permutation, uint32_t hash) {
  return static_cast<uint32_t>(residue(permutation, hash));
}

}  // namespace simjoin
