// How many pairs of sets a similarity clause leaves, estimated from PostgreSQL's statistics.
#pragma once

#include "pg/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

#include "pg/join_match.hpp"

namespace simjoin::pg {

// What the statistics say about the sets of one side.
struct SetStatistics {
  static constexpr int size_quantiles = 11;
  double rows;
  double average_size;           // tokens a set
  double sizes[size_quantiles];  // quantiles of the number of tokens, ascending
  double token_collision;        // sum of the squared shares of the sets that hold a token, over the tokens
};

// Reads the statistics of a set expression over a relation; without any, assumes usual sets.
SetStatistics set_statistics(PlannerInfo *root, RelOptInfo *rel, Expr *set, TokenType type);

// Returns how many ordered pairs (left row, right row) of the cross product satisfy the clause.
double estimate_pairs(const SetStatistics &left, const SetStatistics &right, const SimilarityClause &clause);

// Returns the clause's threshold where the planner can know it, else a usual one.
double planned_threshold(const SimilarityClause &clause);

}  // namespace simjoin::pg
