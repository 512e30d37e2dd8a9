// The weights beside a set's tokens.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "utils/array.h"
}

#include "pg/base/set_codec.hpp"

namespace simjoin::pg {

// Returns the weights of a set: one for each token, each finite and not negative. Errors, naming `function`,
// for any other array.
const float *view_weights(ArrayType *array, const SetView &set, const char *function);

}  // namespace simjoin::pg
