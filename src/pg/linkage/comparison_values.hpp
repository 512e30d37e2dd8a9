// Values that compare two records, as linkage_weights() and match_probability() take them: a similarity, a
// level of agreement, or whether two values are equal.
#pragma once

#include "pg/base/pg.hpp"

namespace simjoin::pg {

// What a number says of two records.
enum class ComparisonKind : uint8_t {
  similarity,  // real, double precision, numeric
  level,       // smallint, integer, bigint: from 0 on
  equality,    // boolean
};

// Returns whether values of this base type compare records.
bool is_comparison(Oid base_type);
ComparisonKind comparison_kind(Oid base_type);

// Returns the value as a number, which may be NaN or infinite.
double comparison_value(Datum value, Oid base_type);

}  // namespace simjoin::pg
