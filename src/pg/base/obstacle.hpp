// Why the planner does not take what a query asks for.
#pragma once

namespace simjoin::pg {

// A reason, and what to write instead.
struct Obstacle {
  const char *why;  // NULL for none
  const char *hint;
};

// Of the statement that is being planned.
struct PlanningObstacles {
  Obstacle nearest_rows;   // to the node NearestRows, of a subquery that is sorted by a similarity
  Obstacle nearest_pairs;  // to the node NearestPairs, of a join that is
};
inline PlanningObstacles planning_obstacles = {};

}  // namespace simjoin::pg
