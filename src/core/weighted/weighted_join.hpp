// Joins of sets with weights: by weighted Jaccard similarity, the sum of the smaller weights of two sets
// divided by the sum of the larger ones, or by the cosine of the two vectors of weights.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/join.hpp"

namespace simjoin {

// What its figures call the algorithm.
inline constexpr std::string_view weighted_algorithm = "weighted prefixes";

// A join whose pairs have their similarity (Batch::similarity) in place of an overlap. Sets in memory can be
// searched by a GPU (core/weighted/weighted_device.hpp).
class WeightedJoin : public JoinEngine {
 public:
  // Adds the next row of a side: distinct tokens, each with a weight that is finite and not negative, and a
  // float4 or a sum of float4s in double precision. Tokens of 32 bits ascend.
  virtual void add_weighted(Side side, std::span<const int32_t> tokens, std::span<const double> weights) = 0;
  virtual void add_weighted(Side side, std::span<const int64_t> tokens, std::span<const double> weights) = 0;
  virtual void add_weighted(Side side, std::span<const std::string_view> tokens,
                            std::span<const double> weights) = 0;
};

// Returns a join of this threshold by weighted Jaccard similarity or the cosine: the measure is jaccard or
// cosine. The algorithm and the number of GPUs count for nothing.
std::unique_ptr<WeightedJoin> make_weighted_join(const JoinSpec &spec);

}  // namespace simjoin
