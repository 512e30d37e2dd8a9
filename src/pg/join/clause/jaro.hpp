// What a bound on the similarity of two texts by Jaro or Winkler says of sets of their characters.
//
// Similar texts have most characters in common, which the cosine similarity of their jaro_keys() bounds
// (core/text/jaro.hpp). So a join by the cosine has all pairs of the condition, which then filters them.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

#include "pg/join/clause/match.hpp"

namespace simjoin::pg {

enum class JaroKind { none, jaro, jaro_winkler };

// Returns which similarity the expression is a call of, and describes the cosine similarity of keys beside
// it: measure, call, left and right. Functions are recognised by the C function that they are bound to.
JaroKind describe_jaro_call(Node *expr, SimilarityClause *keys);

// Returns the cosine similarity of the keys from a similarity of the texts on, 0 where it rules out too few
// pairs for a join to pay.
double cosine_of_jaro(JaroKind kind, double least);

// Returns the same as an expression, where `least` is one of double precision that is not known yet. It is 0
// only where pairs need not have keys in common.
Expr *cosine_of_jaro(JaroKind kind, Expr *least);

}  // namespace simjoin::pg
