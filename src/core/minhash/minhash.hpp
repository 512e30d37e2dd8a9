// MinHash: the least value of a set's tokens under each of many hash functions. The share of values that two
// sets have in common estimates their Jaccard similarity (Broder, 1997).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/worker_pool.hpp"
#include "core/minhash/minhash_table.hpp"

namespace simjoin {

inline constexpr uint32_t max_permutations = 65535;

// Evaluations of hash functions between two looks at the stop flag: about 0.5 ms of one core.
inline constexpr size_t evaluations_per_look = size_t{1} << 21;

// Returns the identity of a token, by which its random numbers are drawn.
inline uint64_t token_identity(int64_t token) {
  return static_cast<uint64_t>(token);
}
uint64_t token_identity(std::string_view token);

// The values of sets under the permutations of a seed. Safe for use by several threads.
class MinHasher {
 public:
  // 1 to max_permutations.
  MinHasher(uint32_t permutations, uint64_t seed);
  explicit MinHasher(std::vector<Permutation> permutations);

  uint32_t permutations() const { return static_cast<uint32_t>(permutations_.size()); }

  // Sets the values to those of the empty set, which no other set's values exceed.
  void start(uint32_t *values) const;

  // Lowers the values by the tokens of these hashes (token_hash). A set may be added in parts, in any order,
  // with tokens repeated: the values are the same. Takes about `count` * permutations() / 4 ns.
  void add(const uint32_t *hashes, size_t count, uint32_t *values) const;

  // Sets the values to those of the set with these hashes. Looks at the stop flag in between.
  void sign(std::span<const uint32_t> hashes, const StopFlag &stop, uint32_t *values) const;

  // The same as add() by a plain loop over tokens and permutations.
  void add_by_definition(const uint32_t *hashes, size_t count, uint32_t *values) const;

 private:
  const std::vector<Permutation> permutations_;
  const PermutationTable table_;
};

}  // namespace simjoin
