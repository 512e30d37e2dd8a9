// What the searches of the node NearestPairs are expected to find, and to cost.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

#include "pg/join/clause/match.hpp"

namespace simjoin::pg {

// With lower thresholds than this step's, estimates say little.
constexpr int last_expected_step = 3;

// The join that is searched for its most similar pairs.
struct PairsToSearch {
  PlannerInfo *root;
  RelOptInfo *joinrel, *outer, *inner;
  JoinPathExtraData *extra;
};

// Returns the clause that the similarity by which the query sorts has in a step; NULL where it is not one of
// the rows of both inputs.
SimilarityClause *clause_of_step(const PairsToSearch &pairs, const SimilarityClause &described, int step);

// What the searches are expected to be.
struct ExpectedSearches {
  SimilarityClause *order;  // the clause of the last one
  int step;                 // that it is in
  int searches;
  double rows;    // that it has
  double wanted;  // that the query asks for
};

// Returns the searches from one step on, until one has enough rows, up to another step.
ExpectedSearches expect_searches(const PairsToSearch &pairs, const SimilarityClause &described,
                                 int first_step, int last_step);

// Returns the cost of all searches. `join` is the join of the last one, below the node's input.
double cost_of_searches(const ExpectedSearches &expected, const Path *join, const Path *input);

// Returns how many pairs the searches may look at that do not meet the conditions of the join, beside `all`,
// which compares all pairs.
int most_pairs_in_vain(const PairsToSearch &pairs, const Path *all);

}  // namespace simjoin::pg
