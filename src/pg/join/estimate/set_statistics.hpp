// What is known about the sets of one side of a join.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

#include "pg/join/estimate/set_sketch.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {

struct SetStatistics {
  const SetSketch *sketch;
  bool known;          // from PostgreSQL's statistics, which the user may read
  double rows;         // rows of the side whose set is not NULL
  double table_rows;   // such rows before the conditions on the relation alone
  double copies;       // how many rows hold the same set, on average
  double repeated;     // the share of the rows whose set another row holds as well
  double equal_share;  // the share of the pairs of rows whose sets are equal
};

// Returns the statistics of a set expression over a relation of `rows` rows. Without statistics, usual sets
// are assumed. set_sketch() tells how long the sketch lives.
SetStatistics set_statistics(PlannerInfo *root, double rows, Expr *set, TokenType type);

// Returns the average size of a set expression's sets: from the statistics, or of usual sets. `root` may be
// NULL.
double average_set_size(PlannerInfo *root, Node *set, TokenType type);

// Returns the figures that the work of comparing sets depends on.
SetShape set_shape(PlannerInfo *root, Node *set, TokenType type);

}  // namespace simjoin::pg
