#include "pg/join/clause/threshold.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/float.h"
}

#include <cmath>
#include <limits>

#include "core/measure.hpp"

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

bool within_distance(double distance, double limit, bool strict) {
  return strict ? float8_lt(distance, limit) : float8_le(distance, limit);
}

double similarity_at_distance(double limit, bool strict) {
  if (!within_distance(0.0, limit, strict)) return std::numeric_limits<double>::quiet_NaN();
  if (within_distance(1.0, limit, strict)) return 0.0;
  return least_similarity_within(limit);
}

double clause_threshold(const JoinPlanFacts &facts, Datum value, bool isnull, Oid type) {
  if (isnull) return std::numeric_limits<double>::quiet_NaN();
  const double number = threshold_value(value, type);
  if (facts.distance) return similarity_at_distance(number, facts.strict);
  return facts.strict ? next_above(number) : number;
}

size_t drop_beyond_distance(Batch *batch, const JoinEngine *engine, bool self_join, double limit,
                            bool strict) {
  size_t kept = 0;
  for (size_t i = 0; i < batch->size(); ++i) {
    const uint32_t left = batch->left[i], right = batch->right[i], overlap = batch->overlap[i];
    const double distance = jaccard_distance(overlap, engine->set_size(Side::left, left),
                                             engine->set_size(self_join ? Side::left : Side::right, right));
    if (!within_distance(distance, limit, strict)) continue;
    batch->left[kept] = left;
    batch->right[kept] = right;
    batch->overlap[kept++] = overlap;
  }
  const size_t dropped = batch->size() - kept;
  for (auto *column : {&batch->left, &batch->right, &batch->overlap}) column->resize(kept);
  return dropped;
}

}  // namespace simjoin::pg
