// Vectors as arguments, and their FlyHashes as results.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "utils/array.h"
}

#include "core/flyhash/flyhash_family.hpp"

namespace simjoin::pg {

// The arguments that say how vectors are hashed. 0 stands for a number that is derived from the others.
struct FlyArguments {
  int32 hash_length;
  int32 winners;
  int32 projection;
  int64 seed;
};

// Takes hash_length, winners, projection and seed from the call's arguments, of which hash_length is the
// second. Returns false where hash_length or seed is NULL. Errors, naming `function`, where no vector can
// have them.
bool fly_arguments(FunctionCallInfo fcinfo, const char *function, FlyArguments *arguments);

// Returns the shape for vectors of `dimension` values. Errors, naming `function`, where the arguments do not
// fit them.
FlyShape fly_shape(const FlyArguments &arguments, uint32_t dimension, const char *function);

// The values of a vector, all of them finite.
struct VectorView {
  const float *values;
  uint32_t dimension;
};

// Errors, naming `function`, where the array is not a vector: NULL elements, more than one dimension, no
// elements or too many, values that are not finite.
VectorView view_vector(ArrayType *array, const char *function);

}  // namespace simjoin::pg
