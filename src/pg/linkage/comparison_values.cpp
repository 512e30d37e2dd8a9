#include "pg/linkage/comparison_values.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/builtins.h"
}

#include "pg/query/query_source.hpp"

namespace simjoin::pg {

bool is_comparison(Oid base_type) {
  return base_type == BOOLOID || is_of_kind(base_type, ColumnKind::number);
}

ComparisonKind comparison_kind(Oid base_type) {
  if (base_type == BOOLOID) return ComparisonKind::equality;
  return is_id_type(base_type) ? ComparisonKind::level : ComparisonKind::similarity;
}

double comparison_value(Datum value, Oid base_type) {
  switch (base_type) {
    case BOOLOID:
      return DatumGetBool(value) ? 1 : 0;
    case FLOAT4OID:
      return DatumGetFloat4(value);
    case FLOAT8OID:
      return DatumGetFloat8(value);
    case NUMERICOID:
      return DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, value));
  }
  return static_cast<double>(id_of(value, base_type));
}

}  // namespace simjoin::pg
