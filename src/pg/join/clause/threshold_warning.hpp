// Warnings of thresholds that no two sets reach, or all do: 80 where 0.8 was meant, or NULL. There is one a
// statement.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

#include "core/measure.hpp"

namespace simjoin::pg {

// What a threshold bounds.
struct Bounded {
  const char *function;  // of SQL: a measure or a distance
  Measure measure;
  bool distance;       // the threshold is the largest one, else the least similarity
  bool strict;         // sets are on the threshold's side of it, and not on it
  bool texts = false;  // are compared, and not sets
};

// Returns whether two sets can satisfy the condition.
bool is_satisfiable(const Bounded &condition, double threshold);

// Warns if no two sets satisfy the condition, or if all do because its threshold is no similarity and no
// distance. A threshold that is nullptr is NULL.
void warn_of_threshold(const Bounded &condition, const double *threshold);

// Returns whether warn_of_thresholds() has seen the value of a threshold that the plan has.
bool is_known_threshold(Expr *threshold);

// Warns of such thresholds in the conditions of the query that is planned, if their values are known while it
// is. The planner has begun to simplify the conditions. Does nothing after the first time for a query.
void warn_of_thresholds(PlannerInfo *root);

}  // namespace simjoin::pg
