// What a condition on an edit distance says of the keys of texts.
//
// Two texts within k edits share one of the keys that edit_keys() makes for k. So a join by keys in common
// has all pairs of `edit_distance(a, b) <= k`, or of a condition by levenshtein of the extension
// fuzzystrmatch, which then filters them.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

#include "pg/join/clause/match.hpp"

namespace simjoin::pg {

// Returns whether the expression is a call of an edit distance of two texts: this extension's or
// fuzzystrmatch's. Functions are recognised by the C function that they are bound to. Only superusers can
// bind one.
bool is_edit_call(Node *expr);

// Returns the calls of overlap_count on keys, as a list of SimilarityClause pointers with measure, call, left
// and right, where the condition holds only for texts within some number of edits that the planner knows as a
// constant or a parameter: one for each distance of a sum. The list is empty for other conditions.
List *keys_of_edit_condition(Node *condition);

// What an edit distance is of, or such a distance divided by the length of the longer text.
struct EditMeasure {
  enum class EmptyTexts { zero, null, error };

  Expr *first, *second;
  bool damerau;
  bool levenshtein;  // of fuzzystrmatch, which refuses long texts
  bool share;
  EmptyTexts of_empty;  // the share of two texts without characters
};

// Returns whether the expression is one without costs and greatest distance, and describes it.
bool describe_edit_measure(Node *expr, EditMeasure *measure);

// Below this similarity, a third of all pairs of names share a key.
inline constexpr double least_edit_similarity = 0.699;

// Returns whether the expression is an edit distance divided by the length of the longer text, which is a
// distance from 0 to 1. Describes the call of overlap_count on keys of the texts: distance, measure, call,
// left and right.
bool describe_edit_share(Node *expr, SimilarityClause *keys);

// Lets the keys of such a call be those of texts whose similarity, 1 minus the share, is at least this. They
// share one. Returns false where it rules out too few pairs.
bool bound_edit_share(double similarity, SimilarityClause *keys);

// Lets the sets of a clause that a condition on an edit distance implies be keys as `indexed`, an expression
// of an index, makes them: for as many edits or more. Texts within the distance share one of those, too.
// Returns false for other keys, and for clauses that a query has itself: it may compare any sets. If the keys
// are for fewer edits, `serves` says for which.
bool take_indexed_keys(Node *indexed, SimilarityClause *keys, const char **serves);

// Estimates how many keys an expression makes of a text of `length` characters. Returns false where it is no
// call of a function of this extension that makes keys for a constant distance or similarity.
bool count_edit_keys(Node *keys, int32 length, double *count);

// Returns whether this session can join by fuzzystrmatch, which is in the schema.
bool can_join_by_levenshtein(Oid schema);

}  // namespace simjoin::pg
