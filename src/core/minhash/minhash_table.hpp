// The permutations of MinHash in the form in which all devices evaluate them: with the fewest operations, and
// exact.
//
// With a = a_high * 2^32 + a_low, S = a h + b and S = hi * 2^61 + lo, the value is the low half of lo + hi,
// and one more where lo + hi reaches the modulus. `upper_value` adds that one exactly where bits 32 to 60 of
// S are all ones, which is nearly the same: then it is one too large where lo + hi stays below the modulus,
// and never otherwise. So the least upper value m of a set is the least value or one more, and it is one more
// only if the set has a token whose residue is 2^61 - 2^32 + m - 1. There is one hash with that residue,
// another permutation of m says which, and it is a hash of 32 bits once in 2^29 times: `corrected_value`.
//
// With 64-bit minima there is a shorter way: hi, to be added to the low half of S, is the whole part of
// a h / 2^61 + b / 2^61, which one fused multiply-add in double precision gives with 19 bits of fraction, a
// little too large (`scaled_a`, `scaled_b`). Its whole part is one too large only where the fraction is below
// uncertain_fraction, and then the value so found has that fraction: among values with their fractions below
// them as 64-bit numbers, a least one whose fraction is not below is the least value.
//
// a_low h + b must fit 64 bits. Where a_low is too large for that, -a and the complement of h do the same
// with a small one; permutations are sorted so that groups of them take the same of both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/minhash/minhash_family.hpp"

namespace simjoin {

// Returns the value of a hash, or one more (see above). `hash` is already complemented if `flip` says so.
SIMJOIN_HOST_DEVICE inline uint32_t upper_value(uint32_t a_low, uint32_t a_high, uint64_t b, uint32_t hash) {
  const uint64_t low = uint64_t{a_low} * hash + b;
  const uint64_t high = uint64_t{a_high} * hash + (low >> 32);
  return static_cast<uint32_t>(low) + static_cast<uint32_t>(high >> 29);
}

// Returns whether a set whose least upper value is `least` may have a least value of one less. That is so
// once in 2^28. `inverse` is the permutation's inverse.
SIMJOIN_HOST_DEVICE inline bool suspect_value(const Permutation &inverse, uint32_t least) {
  const uint64_t low = (inverse.a & UINT32_MAX) * least + (inverse.b & UINT32_MAX);
  const uint64_t high = (inverse.a >> 32) * least + (inverse.b >> 32) + (low >> 32);
  return ((high + 1) & ((uint64_t{1} << 29) - 1)) <= 1;
}

// Returns the least value of the hashes whose least upper value is `least`.
SIMJOIN_HOST_DEVICE inline uint32_t corrected_value(const Permutation &inverse, uint32_t least,
                                                    const uint32_t *hashes, size_t count) {
  const uint64_t culprit = residue(inverse, least);
  if (least == 0 || culprit > UINT32_MAX) return least;
  for (size_t i = 0; i < count; ++i)
    if (hashes[i] == culprit) return least - 1;
  return least;
}

// Bits of fraction, and the fraction, in units of its last bit, from which on the whole part is certain: a is
// rounded up by less than 2^-53, times a hash 2^-21; the sum and b are rounded by 2^-20 each. With 2^-18
// added, the result is above the exact quotient, which is at most 2^-29 above a h / 2^61 + b / 2^61 (what lo
// + hi reaching the modulus adds), by less than 2^-17.
inline constexpr int fraction_bits = 19;
inline constexpr uint32_t uncertain_fraction = 4;

// Permutations sorted into groups that take the hash or its complement, padded to whole groups.
class PermutationTable {
 public:
  static constexpr uint32_t padding = UINT32_MAX;

  PermutationTable(std::span<const Permutation> permutations, size_t group);

  size_t group() const { return group_; }
  // Returns the number of permutations with padding.
  size_t size() const { return numbers_.size(); }
  size_t groups() const { return flips_.size(); }

  const uint64_t *a_low() const { return a_low_.data(); }
  const uint64_t *a_high() const { return a_high_.data(); }
  const uint64_t *b() const { return b_.data(); }
  // The permutations of a least upper value that give the hash to look for.
  const uint64_t *inverse_a() const { return inverse_a_.data(); }
  const uint64_t *inverse_b() const { return inverse_b_.data(); }
  Permutation inverse(size_t i) const { return {inverse_a_[i], inverse_b_[i]}; }
  // The number of each permutation, or `padding`.
  const uint32_t *numbers() const { return numbers_.data(); }
  // The low half of a as it was given, in either form; a / 2^61 rounded up; and the sum that is added to its
  // product with the hash. That sum is 2^33 (so that the last bit is that of the fraction), the low half of
  // b, b / 2^61 and 2^-18.
  const uint64_t *plain_low() const { return plain_low_.data(); }
  const double *scaled_a() const { return scaled_a_.data(); }
  const double *scaled_b() const { return scaled_b_.data(); }
  // By group: all ones if the group takes the complement of the hash, otherwise 0.
  const uint32_t *flips() const { return flips_.data(); }

 private:
  void append_group(std::span<const Permutation> permutations, std::span<const uint32_t> numbers, bool flip);
  void append_scaled(uint64_t a, uint64_t b);

  size_t group_;
  std::vector<uint64_t> a_low_;
  std::vector<uint64_t> a_high_;
  std::vector<uint64_t> b_;
  std::vector<uint64_t> inverse_a_;
  std::vector<uint64_t> inverse_b_;
  std::vector<uint64_t> plain_low_;
  std::vector<double> scaled_a_;
  std::vector<double> scaled_b_;
  std::vector<uint32_t> numbers_;
  std::vector<uint32_t> flips_;
};

// Returns the first `count` permutations of a seed.
std::vector<Permutation> permutations_of(uint64_t seed, uint32_t count);

}  // namespace simjoin
