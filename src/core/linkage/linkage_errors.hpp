// Standard errors of a linkage model.
#pragma once

#include "core/linkage/linkage_model.hpp"

namespace simjoin {

// Sets the standard errors of the model that was fitted to the vectors, from the inverse of the empirical
// information: the sum over all pairs of the products of the scores, which are the derivatives of the
// logarithm of a pair's likelihood. The error of a weight follows by the delta method.
void set_standard_errors(LinkageModel *model, const Buffer<ComparisonVector> &vectors, const StopFlag &stop);

}  // namespace simjoin
