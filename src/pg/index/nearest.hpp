// The nearest sets, in order: SELECT ... ORDER BY set <%> query LIMIT k, by an index on sets.
//
// The node NearestSets searches the index for sets within a small distance, then within larger ones, and at
// last reads the whole table. Each step's rows are sorted, and those of earlier steps are left out. So the
// first rows come long before the last ones.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/extensible.h"
}

#include "pg/index/index_path.hpp"

namespace simjoin::pg {

// Offers the node to the planner where the query's order is that of the distance from the column of the
// index.
void offer_nearest(PlannerInfo *root, RelOptInfo *rel, const SetColumn &column);

// Makes the node known. Called once, when the module is loaded.
void register_nearest_methods();

// CustomScan.custom_private of the node: a list of these integers.
struct NearestPlan {
  AttrNumber distance;  // the column of the children's rows
  int steps;            // the number of searches before the whole table is read
  int most_rows;        // that are asked for; 0 where this is not known
};
NearestPlan read_nearest_plan(const CustomScan *plan);

// Returns the largest distance that a step searches for; steps count from 0.
double search_distance(int step);

// CreateCustomScanState of the node.
Node *create_nearest_state(CustomScan *plan);

}  // namespace simjoin::pg
