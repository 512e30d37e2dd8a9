#include "pg/join/estimate/set_statistics.hpp"

extern "C" {
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/selfuncs.h"
}

#include <cmath>

namespace simjoin::pg {
namespace {

// Counts equal rows as PostgreSQL does for `=`: the most common values, and the other values spread evenly.
void count_equal_sets(SetStatistics *statistics) {
  const SetSketch &sketch = *statistics->sketch;
  const double rows = Max(statistics->table_rows, 1.0);
  // A negative number is a share of all rows, rows with NULL included.
  const double share_of_rows = -sketch.distinct / Max(1.0 - sketch.null_share, 1e-6);
  const double values = Max(sketch.distinct < 0 ? share_of_rows * rows : sketch.distinct, 1.0);
  const double others = Max(1.0 - sketch.common, 0.0);
  // A row with itself is no pair.
  statistics->copies = Max(others * rows / Max(values - sketch.common_values, 1.0), 1.0);
  statistics->equal_share = sketch.common_pairs + others * (statistics->copies - 1.0) / rows;
  statistics->repeated = sketch.common + others * (1.0 - std::exp(1.0 - statistics->copies));
}

// Returns the statistics of an expression's values that the planner may use, or null. The measures are not
// leakproof. So, as in PostgreSQL's own estimators, a column is left out where the user may not read all of
// its rows: EXPLAIN would tell what is in the others.
HeapTuple readable_statistics(const VariableStatData &variable) {
  return variable.acl_ok ? variable.statsTuple : nullptr;
}

SetShape shape_of(PlannerInfo *root, Node *set, TokenType type, bool with_shared_tokens) {
  SetShape shape = sketch_shape(nullptr, type, false);
  if (IsA(set, Const)) {
    if (castNode(Const, set)->constisnull) return {0, 0};
    ArrayType *array = DatumGetArrayTypeP(castNode(Const, set)->constvalue);
    shape.average_size = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
    return shape;
  }
  // A subplan's conditions are costed before the relations above are known.
  if (root == nullptr || root->simple_rel_array == nullptr) return shape;
  VariableStatData variable;
  examine_variable(root, set, 0, &variable);
  shape = sketch_shape(readable_statistics(variable), type, with_shared_tokens);
  ReleaseVariableStats(variable);
  return shape;
}

}  // namespace

SetStatistics set_statistics(PlannerInfo *root, double rows, Expr *set, TokenType type) {
  SetStatistics statistics = {};
  VariableStatData variable;
  examine_variable(root, reinterpret_cast<Node *>(set), 0, &variable);
  const HeapTuple readable = readable_statistics(variable);
  statistics.sketch = set_sketch(readable, type);
  const double present = 1.0 - statistics.sketch->null_share;
  statistics.rows = rows * present;
  statistics.table_rows = (variable.rel == nullptr ? rows : Max(variable.rel->tuples, rows)) * present;
  statistics.copies = 1;
  statistics.known = HeapTupleIsValid(readable);
  if (statistics.known) count_equal_sets(&statistics);
  ReleaseVariableStats(variable);
  return statistics;
}

double average_set_size(PlannerInfo *root, Node *set, TokenType type) {
  return shape_of(root, set, type, false).average_size;
}

SetShape set_shape(PlannerInfo *root, Node *set, TokenType type) {
  return shape_of(root, set, type, true);
}

}  // namespace simjoin::pg
