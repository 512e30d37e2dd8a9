// The weights beside a set's tokens.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "utils/array.h"
}

#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {

// What is wrong with the weights of a set.
struct WeightFlaw {
  enum class Kind : int {
    none,
    array,   // more than one dimension, or a NULL element
    count,   // not as many weights as tokens
    number,  // a weight that is negative or not finite
  };

  Kind kind;
  // The dimensions of the array (dimensions_of_flawed), the number of weights, or the number of the bad one.
  int32 number;
  uint32 tokens;  // count: of the tokens
  float4 weight;  // number: the weight
};

// Returns what is wrong with the weights of a set of `tokens` tokens. Processes interrupts.
WeightFlaw flaw_of_weights(ArrayType *array, uint32_t tokens);

// Raises the error of a flaw, naming `function`.
[[noreturn]] void raise_weight_flaw(const char *function, const WeightFlaw &flaw);

// Returns the weights of a set: one for each token, each finite and not negative. Errors, naming `function`,
// for any other array.
const float *view_weights(ArrayType *array, const SetView &set, const char *function);

}  // namespace simjoin::pg
