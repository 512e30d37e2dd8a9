// FlyHash of a vector as an SQL function, and what it shares with FlyHashes of many vectors.
#include "pg/functions/flyhash.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/memutils.h"
}

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/flyhash/flyhash.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/computation/steps.hpp"
#include "pg/sets/arrays.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {

namespace {

constexpr const char *winners_hint = "A hash has at least 1 and at most hash_length winners, here %u.";
constexpr const char *projection_hint =
    "A row of the projection adds up at least 1 and at most all values of the vector, here %u.";

}  // namespace

bool fly_arguments(FunctionCallInfo fcinfo, const char *function, FlyArguments *arguments) {
  if (PG_ARGISNULL(1) || PG_ARGISNULL(4)) return false;
  arguments->hash_length = PG_GETARG_INT32(1);
  arguments->seed = PG_GETARG_INT64(4);
  check_count(arguments->hash_length, max_fly_hash_length, function, "hash_length",
              "It is a number from 1 to %u.");
  arguments->winners = PG_ARGISNULL(2)
                           ? static_cast<int32>(fly_share(static_cast<uint32_t>(arguments->hash_length)))
                           : PG_GETARG_INT32(2);
  check_count(arguments->winners, static_cast<uint32_t>(arguments->hash_length), function, "winners",
              winners_hint);
  arguments->projection = PG_ARGISNULL(3) ? 0 : PG_GETARG_INT32(3);
  if (!PG_ARGISNULL(3))
    check_count(arguments->projection, max_fly_dimension, function, "projection",
                "It is a number from 1 to the number of values of a vector, at most %u.");
  return true;
}

FlyShape fly_shape(const FlyArguments &arguments, uint32_t dimension, const char *function) {
  if (arguments.projection != 0)
    check_count(arguments.projection, dimension, function, "projection", projection_hint);
  FlyShape shape;
  shape.dimension = dimension;
  shape.hash_length = static_cast<uint32_t>(arguments.hash_length);
  shape.winners = static_cast<uint32_t>(arguments.winners);
  shape.projection =
      arguments.projection != 0 ? static_cast<uint32_t>(arguments.projection) : fly_share(dimension);
  shape.seed = static_cast<uint64_t>(arguments.seed);
  if (uint64_t{shape.hash_length} * shape.projection > max_fly_projected)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("%s: a projection of %u rows of %u values is too large", function,
                           shape.hash_length, shape.projection),
                    errhint("Lower hash_length or projection: their product is at most " UINT64_FORMAT ".",
                            max_fly_projected)));
  return shape;
}

VectorView view_vector(ArrayType *array, const char *function) {
  if (ARR_ELEMTYPE(array) != FLOAT4OID) elog(ERROR, "%s: a vector is not real[]", function);
  check_plain_array(array, function, "vector", "Use array_replace(vector, NULL, 0) if a missing value is 0.");
  const int count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
  if (count == 0)
    ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR), errmsg("%s: a vector has no elements", function),
                    errhint("Leave such vectors out, or make them NULL.")));
  if (static_cast<uint32_t>(count) > max_fly_dimension)
    ereport(ERROR,
            (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("%s: a vector has %d elements", function, count),
             errhint("A vector has at most %u elements.", max_fly_dimension)));
  const auto *values = reinterpret_cast<const float *>(ARR_DATA_PTR(array));
  for (int i = 0; i < count; ++i) {
    if (std::isfinite(values[i])) continue;
    ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                    errmsg("%s: element number %d of a vector is %g", function, i + 1,
                           static_cast<double>(values[i])),
                    errhint("The elements of a vector are finite numbers.")));
  }
  return {values, static_cast<uint32_t>(count)};
}

namespace {

// The projection that a call of the function used last; it is the same for most calls of a query.
struct LastProjection {
  MemoryContext context;
  const FlyProjection *projection;
  FlyBlock *block;
  uint16_t *levels;
};

LastProjection *projection_for(FmgrInfo *function, const FlyShape &shape) {
  auto *last = static_cast<LastProjection *>(function->fn_extra);
  if (last == nullptr) {
    last = static_cast<LastProjection *>(MemoryContextAllocZero(function->fn_mcxt, sizeof(LastProjection)));
    last->context = AllocSetContextCreate(function->fn_mcxt, "projection", ALLOCSET_SMALL_SIZES);
    function->fn_extra = last;
  }
  if (last->block != nullptr && last->projection->shape() == shape) return last;
  last->block = nullptr;
  MemoryContextReset(last->context);
  auto *projection = own(last->context, [&] { return std::make_unique<FlyProjection>(shape); });
  const uint32_t rows = fly_rows_at_once(shape);
  for (uint32_t row = 0; row < shape.hash_length; row += rows) {
    check_interrupts();
    call_cpp([&] { projection->draw(row, std::min(shape.hash_length, row + rows)); });
  }
  last->projection = projection;
  last->levels =
      static_cast<uint16_t *>(MemoryContextAlloc(last->context, shape.dimension * sizeof(uint16_t)));
  last->block = own(last->context, [&] { return std::make_unique<FlyBlock>(*projection); });
  return last;
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_flyhash);
Datum simjoin_flyhash(PG_FUNCTION_ARGS) {
  constexpr const char *function = "flyhash";
  FlyArguments arguments;
  if (!fly_arguments(fcinfo, function, &arguments) || PG_ARGISNULL(0)) PG_RETURN_NULL();
  ArrayType *array = PG_GETARG_ARRAYTYPE_P(0);
  const VectorView vector = view_vector(array, function);
  const FlyShape shape = fly_shape(arguments, vector.dimension, function);
  const LastProjection *last = projection_for(fcinfo->flinfo, shape);
  fly_levels(vector.values, vector.dimension, last->levels);
  last->block->start(last->levels, 1);
  run_steps([&] { return last->block->step(fly_rows_at_once(shape)); });
  const auto result = make_array<int32>(shape.winners);
  call_cpp([&] { last->block->write(0, reinterpret_cast<uint32_t *>(result.elements)); });
  PG_FREE_IF_COPY(array, 0);
  return result.datum();
}
}

}  // namespace simjoin::pg
