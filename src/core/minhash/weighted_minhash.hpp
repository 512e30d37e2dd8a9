// Consistent weighted sampling (Ioffe, Improved consistent sampling, weighted minhash and L1 sketching,
// 2010). Each sample picks a token and a number t. Two weighted sets have a sample in common with the
// probability of their weighted Jaccard similarity: the sum of the smaller weights divided by the sum of the
// larger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/worker_pool.hpp"

namespace simjoin {

// A token's identity (token_identity) with its weight.
struct WeightedToken {
  uint64_t identity;
  double weight;
};

// The order in which tokens are worked through. Equal tokens are in the order of their weights, so that their
// sum does not depend on the order of the input.
inline bool operator<(const WeightedToken &a, const WeightedToken &b) {
  return a.identity < b.identity || (a.identity == b.identity && a.weight < b.weight);
}

// Adds up the weights of equal tokens and removes tokens of weight 0. Returns the number of tokens left. The
// tokens must be in order, their weights finite and not negative.
size_t combine_equal(WeightedToken *tokens, size_t count);

// Returns a set's tokens in order, with the weights of equal tokens added up and without tokens of weight 0.
// These are `tokens` themselves if they are so already, otherwise a copy in `scratch`. Throws Cancelled if
// the flag is set.
std::span<const WeightedToken> in_order(std::span<const WeightedToken> tokens,
                                        std::vector<WeightedToken> &scratch, const StopFlag &stop);

// The samples of a weighted set whose tokens are being added.
struct WeightedSamples {
  std::vector<float> least;     // ln a of the token picked so far, by sample
  std::vector<uint64_t> token;  // that token's identity
  std::vector<int32_t> t;       // and its t

  // Makes these the samples of the empty set.
  void start(uint32_t samples);
  // Writes the part of each sample that a signature keeps: 32 bits of a hash of the token and t.
  void write_values(uint32_t *values) const;
};

// Lowers the samples by tokens in order, after combine_equal. A set may be added in parts, one after the
// other. All arithmetic is in single precision and each operation is rounded by itself, so every machine has
// the same bits. Takes about 10 ns per token and sample.
void add_weighted(const WeightedToken *tokens, size_t count, uint64_t seed, WeightedSamples &samples);

// The same, one sample of one token at a time. add_weighted is measured against it.
void add_weighted_by_definition(const WeightedToken *tokens, size_t count, uint64_t seed,
                                WeightedSamples &samples);

// Makes signatures of one number of samples and seed. It keeps memory between two sets.
class WeightedMinHasher {
 public:
  WeightedMinHasher(uint32_t samples, uint64_t seed) : count_(samples), seed_(seed) {}

  // Writes the values of the signature of a set, its tokens in any order. Throws Cancelled if the flag is
  // set.
  void sign(std::span<const WeightedToken> tokens, const StopFlag &stop, uint32_t *values);

 private:
  const uint32_t count_;
  const uint64_t seed_;
  std::vector<WeightedToken> scratch_;
  WeightedSamples samples_;
};

// Evaluations of hash functions that take as long as one sample of one token.
inline constexpr size_t evaluations_per_sample = 32;

}  // namespace simjoin
