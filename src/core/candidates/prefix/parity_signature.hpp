// Parity signatures: short bit strings of sets, compared by the bits in which they differ.
#pragma once

#include <bit>
#include <cstdint>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/sets/set_collection.hpp"

namespace simjoin {

// Returns the bit that a rank of the collection maps to. Neighbours in frequency map to different bits.
template <uint32_t words>
uint32_t parity_bit(const SetCollection &sets, uint32_t rank) {
  return (sets.ranks - 1 - rank) % (words * 64);
}

// Writes the signature of a set of `size` tokens: bit b is the parity of the number of its tokens that map to
// b. Two signatures differ in at most as many bits as there are tokens in only one of the two sets. Dropped
// tokens are in no partner and map to any bit. `words` is a power of two.
template <uint32_t words>
void parity_signature(const SetCollection &sets, uint32_t set, uint32_t size, uint64_t *signature) {
  constexpr uint32_t bits = words * 64;
  for (uint32_t w = 0; w < words; ++w) signature[w] = 0;
  const auto flip = [&](uint32_t bit) { signature[bit / 64] ^= uint64_t{1} << bit % 64; };
  const uint32_t stored = sets.stored(set);
  const uint32_t *ranks = sets.begin(set);
  for (uint32_t i = 0; i < stored; ++i) flip(parity_bit<words>(sets, ranks[i]));
  uint64_t random = uint64_t{set} * 0x9E3779B97F4A7C15u;
  for (uint32_t i = stored; i < size; ++i) {
    random = (random ^ random >> 29) * 0xD6E8FEB86659FD93u;
    flip(static_cast<uint32_t>(random >> 48) % bits);
  }
}

// Returns the signature of one word.
inline uint64_t parity_signature(const SetCollection &sets, uint32_t set, uint32_t size) {
  uint64_t signature;
  parity_signature<1>(sets, set, size, &signature);
  return signature;
}

// Signatures of unrelated sets differ in half of their 64 bits, give or take four. Pairs that may differ in
// this many tokens are not worth the comparison.
inline constexpr uint32_t useful_differences = 26;

// Signatures of 256 bits of all sets of a collection, for sets too long for one word.
class ParityTable {
 public:
  static constexpr uint32_t words = 4;
  // The same for 256 bits.
  static constexpr uint32_t useful_differences = 120;

  ParityTable(const SetCollection &sets, WorkerPool &pool, MemoryCounter &memory);

  // Returns the number of bits in which the signature of a set differs from `other`.
  uint32_t differences(uint32_t set, const uint64_t *other) const {
    const uint64_t *signature = signatures_.data() + size_t{set} * words;
    int bits = 0;
    for (uint32_t w = 0; w < words; ++w) bits += std::popcount(signature[w] ^ other[w]);
    return static_cast<uint32_t>(bits);
  }
  void prefetch(uint32_t set) const { __builtin_prefetch(signatures_.data() + size_t{set} * words); }

 private:
  Buffer<uint64_t> signatures_;
};

}  // namespace simjoin
