// MinHash: the least value of a set's tokens under each of many hash functions. The share of values that two
// sets have in common estimates their Jaccard similarity (Broder, 1997).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace simjoin {

inline constexpr uint32_t max_permutations = 65535;

// Returns the identity of a token: what its random numbers are drawn by.
inline uint64_t token_identity(int64_t token) {
  return static_cast<uint64_t>(token);
}
uint64_t token_identity(std::string_view token);

// The values of sets under the permutations of a seed. Safe for use by several threads.
class MinHasher {
 public:
  // 1 to max_permutations.
  MinHasher(uint32_t permutations, uint64_t seed);

  uint32_t permutations() const { return permutations_; }

  // Sets the values to those of the empty set, which are above or equal to all others.
  void start(uint32_t *values) const;

  // Lowers the values by the tokens of these hashes (token_hash). A set may be added in parts, in any order,
  // with tokens repeated: the values are the same. Takes about `count` * permutations() / 2 ns.
  void add(const uint32_t *hashes, size_t count, uint32_t *values) const;

  // The same, by a plain loop over tokens and permutations: what add is measured against.
  void add_by_definition(const uint32_t *hashes, size_t count, uint32_t *values) const;

 private:
  uint32_t permutations_;
  // The permutations' numbers, padded to whole blocks of the kernel: low and high half of a, and b.
  std::vector<uint64_t> a_low_;
  std::vector<uint64_t> a_high_;
  std::vector<uint64_t> b_;
};

}  // namespace simjoin
