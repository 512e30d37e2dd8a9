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
  static constexpr int size_quantiles = 6;
  static constexpr int most_tokens = 48;
  double rows;
  double average_size;            // tokens a set
  double sizes[size_quantiles];   // quantiles of the number of tokens, ascending
  int token_count;                // of the most frequent tokens
  double frequency[most_tokens];  // the share of the sets that hold each of them, descending
  double rest;                    // the sum of the squared frequencies of all other tokens
  double equal_share;             // the share of the pairs of rows whose sets are equal
};

// Reads the statistics of a set expression over a relation; without any, assumes usual sets.
SetStatistics set_statistics(PlannerInfo *root, RelOptInfo *rel, Expr *set, TokenType type);

// Returns how many ordered pairs (left row, right row) of the cross product satisfy the clause.
double estimate_pairs(const SetStatistics &left, const SetStatistics &right, const SimilarityClause &clause);

// Returns the clause's threshold where the planner can know it, else a usual one.
double planned_threshold(const SimilarityClause &clause);

}  // namespace simjoin::pg
