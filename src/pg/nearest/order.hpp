// The order of a query that is the similarity of a relation's sets and of one set from outside the query.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

#include "core/measure.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {

// ORDER BY measure(probe, set) DESC, or ORDER BY probe <%> set.
struct SimilarityOrder {
  Expr *call;
  Expr *probe;      // has a parameter that a row of an outer query sets, and no columns
  Expr *set;        // of the relation alone
  Measure measure;  // of probe and set
  bool distance;
  bool nulls_first;
  TokenType token_type;
};

// Returns whether the sort key is such an order of the relation's rows, and describes it.
bool describe_similarity_order(PlannerInfo *root, RelOptInfo *rel, const PathKey *key,
                               SimilarityOrder *order);

// Returns whether the value of an expression may change while rows of the query are read: it depends on
// parameters that an outer query sets, or on subqueries.
bool depends_on_outer(Node *expr);

// Returns whether a scan can compute the expression: it is one value of a row, and neither of a group or a
// window nor several values.
bool is_value_of_row(Node *expr);

// Returns how often the query is started, by estimate: once for each row that the parameters of the
// expression come from.
double expected_starts(PlannerInfo *root, Node *expr);

// Returns the value that a condition says the similarity reaches, or the distance does not exceed; NULL where
// the condition is no such bound.
Expr *bound_of_order(const SimilarityOrder &order, Node *condition);

}  // namespace simjoin::pg
