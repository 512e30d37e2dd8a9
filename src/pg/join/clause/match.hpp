// Recognising a similarity clause among a join's clauses.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

#include "core/measure.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {

// A join clause `measure(l, r) >= t`, in any of its spellings, `l <%> r <= t`, `l ~= r`, or
// `weighted_measure(l, l_weights, r, r_weights) >= t`.
struct SimilarityClause {
  RestrictInfo *rinfo;
  bool from_settings;  // of `~=`: measure and threshold are those set when the join starts
  Measure measure;     // of left and right; `jaccard` or `cosine` of weighted sets; not meaningful where
                       // from_settings
  bool distance;       // the clause bounds the distance 1 - similarity from above
  bool strict;         // `>` rather than `>=`, for a distance `<` rather than `<=`
  Expr *left;          // the set expression over the outer relation
  Expr *right;         // the set expression over the inner relation
  Expr *left_weights;  // of a weighted clause: the weights of each side's set; else NULL
  Expr *right_weights;
  Expr *threshold;  // free of columns of both; NULL where from_settings
  Expr *call;       // the call of the measure or the distance inside the clause; NULL where from_settings
  TokenType token_type;
  bool ranked;    // the query has no such clause, but an order by its call, which NearestPairs serves
  bool of_edits;  // a condition on an edit distance implies the clause: its sets are keys that the planner
                  // makes

  bool weighted() const { return left_weights != nullptr; }
};

// An equality clause beside the similarity clause, `l = r` on a type that can be hashed. Rows whose hashes
// differ cannot match, so the join need not compare them.
struct PartitionKey {
  Expr *left;   // over the outer relation
  Expr *right;  // over the inner relation
  Oid left_hash;
  Oid right_hash;
  Oid collation;
};

// Returns the clauses that can drive a join of these two relations, as a list of SimilarityClause pointers.
// They are among the join's clauses, or implied by one of them (implied.hpp).
List *find_similarity_clauses(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                              JoinType jointype, List *restrictlist);

// Raises PostgreSQL's error for a FULL JOIN of these clauses that has no path although all paths have been
// added. A hint is given where one of the clauses calls a measure.
void check_full_join(RelOptInfo *joinrel, RelOptInfo *inner, SpecialJoinInfo *sjinfo, List *restrictlist);

// Returns whether the clause is a similarity clause between some relations on the left and others on the
// right, and describes it.
bool describe_similarity_clause(PlannerInfo *root, RestrictInfo *rinfo, SimilarityClause *match);

// Returns whether the clause is a similarity clause without weights, whatever its sets and its threshold
// depend on, and describes it. `left` and `right` are its sets in the order in which they are written.
bool describe_search_clause(RestrictInfo *rinfo, SimilarityClause *match);

// Returns whether the clause has the form of a similarity clause, whatever its sets and the parameters of its
// threshold.
bool is_similarity_clause(RestrictInfo *rinfo);

// Returns whether the expression compares two numbers by >, >=, < or <=, and gives the one that is to be
// greater and the other one, and on request whether they must differ.
bool describe_order(Node *expr, Node **greater, Node **lesser, bool *strict = nullptr);

// Returns whether the expression compares two numbers by =, and gives them.
bool describe_equality(Node *expr, Node **first, Node **second);

// Returns whether the expression has no columns and need not be computed more than once.
bool same_for_all_pairs(PlannerInfo *root, Node *expr);

// Returns whether the operator compares a call of a measure or a distance with a threshold, as a similarity
// clause does but for `~=`, and describes it: measure, distance, strict, threshold, call, sets or texts, and
// weights.
bool describe_comparison(OpExpr *op, SimilarityClause *match);

// Returns whether the expression is a call of a measure or a distance, and describes it: measure, distance,
// call, left and right.
bool describe_call(Node *expr, SimilarityClause *match);

// The same for a call of a measure of sets with weights, and gives these.
bool describe_weighted_call(Node *expr, SimilarityClause *match);

// Returns whether the expression is a call of query_similarity().
bool is_query_similarity(Node *expr);

// Returns whether a call of a measure is between the two relations, each set over one of them, and assigns
// its arguments to the sides of the clause. Without relations any two will do.
bool assign_sides(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner, List *arguments,
                  SimilarityClause *match);

// Returns whether the expression is the distance of two sets, and gives these.
bool describe_distance(Node *expr, Expr **left, Expr **right);

// Returns whether a clause of a join decides which of its rows match.
bool decides_match(RestrictInfo *rinfo, RelOptInfo *joinrel, JoinType jointype);

// Returns the join's equality clauses (RestrictInfo) that can keep rows apart.
List *find_partition_clauses(RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner, JoinType jointype,
                             List *restrictlist);

// Describes a clause that find_partition_clauses found.
PartitionKey partition_key(RestrictInfo *rinfo, RelOptInfo *outer);

// Returns the tables and subqueries whose columns an expression mentions.
Relids base_relids(PlannerInfo *root, Expr *expr);

// Returns the function that the expression is a call of, InvalidOid where it is no call.
Oid called_function(Node *expr);

// Returns the arguments of a clause's call. A weighted one has four: a set, its weights, and the same again.
List *call_arguments(Expr *call);

// Returns the similarity from which on the clause holds, 0 where the planner does not know it as a constant.
double constant_threshold(const SimilarityClause &clause);

}  // namespace simjoin::pg
