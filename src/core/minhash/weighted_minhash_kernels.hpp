// The vectorised loop of weighted MinHash, for the best instruction set of the host, and its definition.
// Compiled without contraction of products and sums to fused operations, which would round differently.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/minhash/minhash_family.hpp"

namespace simjoin {

// The logarithm of x = mantissa * 2^exponent with sqrt(1/2) <= mantissa < sqrt(2), to a few units in the last
// place: 2 artanh((m - 1) / (m + 1)) as a series.
SIMJOIN_HOST_DEVICE inline float log_of(float mantissa, int32_t exponent) {
  const float s = (mantissa - 1.0f) / (mantissa + 1.0f);
  const float z = s * s;
  const float series = z * (0.33333334f + z * (0.2f + z * (0.14285715f + z * 0.11111111f)));
  return static_cast<float>(exponent) * 0.69314718f + 2.0f * (s + s * series);
}

// Returns the same of a positive normal number.
SIMJOIN_HOST_DEVICE inline float log_of(float x) {
  union {
    float number;
    uint32_t bits;
  } word;
  word.number = x;
  // 0x3F3504F3 is sqrt(1/2): the exponent counts from there.
  const uint32_t offset = word.bits - 0x3F3504F3u;
  word.bits = (offset & 0x007FFFFFu) + 0x3F3504F3u;
  return log_of(word.number, static_cast<int32_t>(offset) >> 23);
}

// Returns the number in the middle of the k-th of 2^23 equal parts of (0, 1).
SIMJOIN_HOST_DEVICE inline float uniform(uint32_t k) {
  return (static_cast<float>(static_cast<int32_t>(k)) + 0.5f) * 0x1p-23f;
}

// The random numbers of a token for a sample: r, ln c and beta, where r and c ~ Gamma(2, 1), as -ln of the
// product of two uniform numbers, and beta is uniform.
struct SampleNumbers {
  float r;
  float ln_c;
  float beta;
};

SIMJOIN_HOST_DEVICE inline SampleNumbers sample_numbers(uint64_t seed, uint32_t identity_low,
                                                        uint32_t identity_high, uint32_t sample) {
  const RandomWords random =
      random_words(seed, identity_low, identity_high, sample, RandomUse::weighted_sample);
  const uint32_t *word = random.word;
  const float r = -log_of(uniform(word[0] >> 9) * uniform(word[1] >> 9));
  const float c = -log_of(uniform(word[2] >> 9) * uniform(word[3] >> 9));
  const float beta = uniform((word[0] & 0x1FFu) << 14 | (word[1] & 0x1FFu) << 5 | (word[2] & 0x1Fu));
  return {r, log_of(c), beta};
}

// The draw of a token for one sample. The token with the smallest ln_a of a set is the sample.
struct WeightedDraw {
  float ln_a;
  int32_t t;
};

// Returns ln a = ln c - r (t - beta + 1) for the t of a draw.
SIMJOIN_HOST_DEVICE inline float ln_a_of(const SampleNumbers &numbers, float t) {
  return numbers.ln_c - numbers.r * (t - numbers.beta + 1.0f);
}

// Returns the draw of a token with this logarithm of its weight: t = floor(ln w / r + beta).
SIMJOIN_HOST_DEVICE inline WeightedDraw draw_weighted(uint64_t seed, uint32_t identity_low,
                                                      uint32_t identity_high, uint32_t sample,
                                                      float ln_weight) {
  const SampleNumbers numbers = sample_numbers(seed, identity_low, identity_high, sample);
  const float position = ln_weight / numbers.r + numbers.beta;
  int32_t t = static_cast<int32_t>(position);
  t -= static_cast<float>(t) > position ? 1 : 0;
  return {ln_a_of(numbers, static_cast<float>(t)), t};
}

// Returns the part of a sample that a signature keeps: 32 bits of a hash of its number, the token and t. The
// number is needed: otherwise two tokens whose hashes share the low bits would share them in every sample.
// Truncated signatures of sets that few tokens dominate would then be alike.
SIMJOIN_HOST_DEVICE inline uint32_t sample_value(uint32_t sample, uint64_t identity, int32_t t) {
  return static_cast<uint32_t>(mix64(mix64(identity) ^ (uint64_t{sample} << 32 | static_cast<uint32_t>(t))) >>
                               32);
}

// Lowers `count` samples, from number 0 on, by one token.
void lower_samples(uint64_t identity, float ln_weight, uint64_t seed, size_t count, float *least,
                   uint64_t *token, int32_t *t);

// The same by a plain loop.
void lower_samples_by_definition(uint64_t identity, float ln_weight, uint64_t seed, size_t count,
                                 float *least, uint64_t *token, int32_t *t);

// Returns the logarithm of a positive finite number. If the number is normal in single precision, that is
// log_of.
float log_of_weight(double weight);

}  // namespace simjoin
