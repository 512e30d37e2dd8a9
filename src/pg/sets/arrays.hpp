// New arrays of numbers.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/memutils.h"
}

#include <cstring>

namespace simjoin::pg {

template <class T>
inline constexpr Oid element_type = InvalidOid;
template <>
inline constexpr Oid element_type<int32> = INT4OID;
template <>
inline constexpr Oid element_type<int64> = INT8OID;
template <>
inline constexpr Oid element_type<float4> = FLOAT4OID;
template <>
inline constexpr Oid element_type<float8> = FLOAT8OID;

// An array whose elements the caller sets.
template <class T>
struct NewArray {
  Datum datum() const { return PointerGetDatum(array); }

  ArrayType *array;
  T *elements;
};

// Returns the bytes that an array of numbers takes.
template <class T>
constexpr Size array_bytes(size_t count) {
  return count == 0 ? sizeof(ArrayType) : ARR_OVERHEAD_NONULLS(1) + count * sizeof(T);
}

// Returns a new array of `count` numbers in the memory context. Errors where it would be too large.
template <class T>
NewArray<T> make_array(size_t count, MemoryContext context = CurrentMemoryContext) {
  static_assert(element_type<T> != InvalidOid);
  const Size size = array_bytes<T>(count);
  auto *array = static_cast<ArrayType *>(MemoryContextAlloc(context, size));
  std::memset(array, 0, count == 0 ? size : ARR_OVERHEAD_NONULLS(1));
  SET_VARSIZE(array, size);
  array->elemtype = element_type<T>;
  if (count == 0) return {array, nullptr};
  array->ndim = 1;
  *ARR_DIMS(array) = static_cast<int>(count);
  *ARR_LBOUND(array) = 1;
  return {array, reinterpret_cast<T *>(ARR_DATA_PTR(array))};
}

}  // namespace simjoin::pg
