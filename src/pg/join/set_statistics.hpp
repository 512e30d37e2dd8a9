// What is known about the sets of one side of a join: those of the column, in the rows that the side has.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

#include "pg/base/set_codec.hpp"
#include "pg/join/set_sketch.hpp"

namespace simjoin::pg {

struct SetStatistics {
  const SetSketch *sketch;
  double rows;         // with a set that is not NULL
  double table_rows;   // the same before the conditions on the relation alone
  double copies;       // how many rows hold the same set, on average
  double repeated;     // the share of the rows whose set another row holds, too
  double equal_share;  // the share of the pairs of rows whose sets are equal
};

// Returns the statistics of a set expression over a relation of so many rows; without any, assumes usual
// sets. As for the sketch's lifetime, see there.
SetStatistics set_statistics(PlannerInfo *root, double rows, Expr *set, TokenType type);

// Returns the average size of a set expression's sets, from the statistics where there are any. `root` may be
// NULL.
double average_set_size(PlannerInfo *root, Node *set, TokenType type);

// Returns what the work of comparing sets depends on.
SetShape set_shape(PlannerInfo *root, Node *set, TokenType type);

}  // namespace simjoin::pg
