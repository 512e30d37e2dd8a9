// Why the planner does not take what a query asks for.
#pragma once

namespace simjoin::pg {

// A reason, and what to write instead.
struct Obstacle {
  const char *why;
  const char *hint;
};

// Of the statement that is being planned: why the rows of a subquery that is sorted by a similarity have to
// be sorted for each outer row. Without a reason where NearestRows was offered.
inline Obstacle nearest_obstacle = {};

}  // namespace simjoin::pg
