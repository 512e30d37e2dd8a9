// Joins of sets with weights: by weighted Jaccard similarity, the sum of the smaller weights of two sets
// divided by the sum of the larger ones, or by the cosine of the two vectors of weights.
#pragma once

#include <memory>
#include <string_view>

#include "core/join.hpp"

namespace simjoin {

// What its figures call the algorithm.
inline constexpr std::string_view weighted_algorithm = "weighted prefixes";

// Returns a join of this threshold by weighted Jaccard similarity or the cosine: the measure is jaccard or
// cosine. The algorithm and the number of GPUs count for nothing. Its pairs have their similarity
// (Batch::similarity) in place of an overlap. Sets in memory can be searched by a GPU
// (core/weighted/weighted_device.hpp).
std::unique_ptr<JoinEngine> make_weighted_join(const JoinSpec &spec);

}  // namespace simjoin
