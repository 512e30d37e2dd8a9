// Weighted MinHash on the device. The random numbers of a token are the same in every set, so they are kept
// in a table. To read them there takes a tenth of the time of drawing them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "cuda/base/device.hpp"
#include "cuda/minhash/sign_layout.hpp"

namespace simjoin::gpu {

inline constexpr uint32_t no_token = UINT32_MAX;

// The random numbers (core's SampleNumbers) of the tokens seen so far, for all samples of a signer. A hash
// table maps a token's identity to its number. Numbers follow the order of arrival.
class DrawTable {
 public:
  // The table may take `limit` bytes.
  DrawTable(Device &device, uint32_t samples, uint64_t seed, size_t limit);

  // Returns whether to add new tokens among the next `tokens` identities, and if so, makes room for them.
  // They must fit, and enough of the earlier identities must have been found for the table to pay.
  bool prepare(size_t tokens);
  // Writes the place of each identity, in stream order: `no_token` if the table lacks it. Adds new identities
  // if `add` is set.
  void find(const uint64_t *identities, size_t count, bool add, uint32_t *places);
  // Waits for find(), and draws the random numbers of new tokens.
  void fill();

  size_t tokens() const { return count_; }

  struct View {
    const uint32_t *numbers;  // by place
    const float *draws;       // by token: r of all samples, ln c of all, beta of all
    uint32_t stride;          // samples, rounded up to whole blocks of lanes
  };
  View view() const { return {numbers_.data(), draws_.data(), stride_}; }

 private:
  void grow_places(size_t places);
  void grow_draws(size_t tokens);

  Device &device_;
  const uint32_t samples_;
  const uint32_t stride_;
  const uint64_t seed_;
  const size_t most_tokens_;     // limit of count_
  size_t count_ = 0;             // tokens in the table
  size_t found_ = 0;             // identities looked up
  size_t capacity_ = 0;          // tokens that fit
  DeviceBuffer<uint64_t> keys_;  // identities by place; their number is a power of two
  DeviceBuffer<uint32_t> numbers_;
  DeviceBuffer<uint64_t> identities_;  // by number
  DeviceBuffer<float> draws_;
  DeviceBuffer<uint32_t> counter_;
};

// The tokens of a round. Identities ascend within each set.
struct WeightedTokens {
  const uint64_t *identities;
  const float *weights;
  const uint32_t *places;
};

// The samples of sets in parts, by slot and sample: the least (ln a, token) so far.
struct PartialSamples {
  unsigned long long *least;
  const uint32_t *sets;  // by slot
  uint32_t slots;
};

// Writes the values of all sets of a round. Calls `pause` between launches of bounded work.
void sign_weighted(const Device &device, uint64_t seed, const DrawTable::View &table, const RoundView &round,
                   const WeightedTokens &tokens, const PartialSamples &partial,
                   const std::function<void()> &pause);

}  // namespace simjoin::gpu
