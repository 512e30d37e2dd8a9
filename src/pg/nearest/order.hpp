// What a query asks of a relation's sets and of one set from outside the query: an order by their similarity,
// or a condition that bounds it.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

#include "core/measure.hpp"
#include "core/nearest/text_order.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {

// What rows are sorted by if it is a comparison of texts, not of sets.
struct TextFacts {
  bool used;
  TextOrder order;
  bool levenshtein;    // of fuzzystrmatch, which refuses long texts
  bool refuses_empty;  // two empty texts are an error
};

// ORDER BY measure(probe, set) DESC, or ORDER BY probe <%> set. Of pg_trgm, similarity(a, b) DESC, or
// ORDER BY a <-> b: the sets are those of the trigrams.
struct SimilarityOrder {
  Expr *call;                         // what the rows are sorted by; NULL for a condition
  Expr *of_sets;                      // the measure's call on the sets
  Expr *probe;                        // has a parameter that a row of an outer query sets, and no columns
  Expr *set;                          // of the relation alone
  Expr *probe_weights, *set_weights;  // NULL without
  Measure measure;                    // of probe and set
  bool distance;
  bool single;  // in single precision, as pg_trgm computes both
  bool nulls_first;
  TokenType token_type;
  TextFacts texts;  // if used, probe and set are texts

  bool weighted() const { return probe_weights != nullptr; }
};

// A condition that no row meets unless the similarity of its set and the probe reaches a bound, or their
// distance does not exceed it.
struct SimilarityBound {
  SimilarityOrder sets;
  Expr *bound;
};

// Returns whether the sort key is such an order of the relation's rows, and describes it.
bool describe_similarity_order(PlannerInfo *root, RelOptInfo *rel, const PathKey *key,
                               SimilarityOrder *order);

// Returns the one expression that the key sorts rows of the relation by, in the usual order of its type; NULL
// where there is none.
Expr *usual_sort_expression(RelOptInfo *rel, const PathKey *key);

// Fills in the probe and the set, or the texts that stand for them. Returns false where they are not one of
// the relation and one from outside. `swapped`: the probe is the second one.
bool take_sides(PlannerInfo *root, RelOptInfo *rel, Expr *first, Expr *second, SimilarityOrder *order,
                bool *swapped);

// Returns whether the executor can compute the expression once an outer row.
bool is_bound_of_row(Expr *threshold);

// Returns whether the sort key is a similarity whose set is made of columns of several relations of the
// query.
bool sorts_joined_rows(const PathKey *key);

// Returns whether the value of an expression may change while rows of the query are read: it depends on
// parameters that an outer query sets, or on subqueries.
bool depends_on_outer(Node *expr);

// Returns whether a scan can compute the expression: it is one value of a row, and neither of a group or a
// window nor several values.
bool is_value_of_row(Node *expr);

// Returns the value that a condition says the similarity reaches, or the distance does not exceed; NULL where
// the condition is no such bound. For pg_trgm it is one of the similarity of the sets.
Expr *bound_of_order(PlannerInfo *root, const SimilarityOrder &order, RestrictInfo *condition);

// Returns the bounds that a condition on the relation and the outer query sets, as a list of SimilarityBound
// pointers.
List *bounds_of_condition(PlannerInfo *root, RelOptInfo *rel, RestrictInfo *condition);

}  // namespace simjoin::pg
