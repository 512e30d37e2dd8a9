#include "pg/join_threshold.hpp"

extern "C" {
#include "catalog/pg_type.h"
}

#include <bit>
#include <cmath>
#include <limits>

namespace simjoin::pg {

double threshold_value(Datum value, Oid type) {
  switch (type) {
    case FLOAT8OID:
      return DatumGetFloat8(value);
    case FLOAT4OID:
      return DatumGetFloat4(value);
    case INT2OID:
      return DatumGetInt16(value);
    case INT4OID:
      return DatumGetInt32(value);
    case INT8OID:
      return static_cast<double>(DatumGetInt64(value));
    default:
      elog(ERROR, "similarity join: unexpected type %u of a threshold", type);
  }
}

double next_above(double value) {
  return std::nextafter(value, std::numeric_limits<double>::infinity());
}

double similarity_at_distance(double distance, bool strict) {
  auto reached = [&](double similarity) {
    return strict ? 1.0 - similarity < distance : 1.0 - similarity <= distance;
  };
  if (std::isnan(distance)) return 0.0;  // greater than any number, as PostgreSQL orders them
  if (!reached(1.0)) return std::numeric_limits<double>::quiet_NaN();
  // Doubles that are not negative are ordered like their bit patterns; 1.0 reaches the distance.
  uint64_t low = 0, high = std::bit_cast<uint64_t>(1.0);
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (reached(std::bit_cast<double>(middle))) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return std::bit_cast<double>(high);
}

}  // namespace simjoin::pg
