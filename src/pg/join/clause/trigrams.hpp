// What a condition of pg_trgm says of sets of trigrams.
//
// similarity() is the Jaccard similarity of two sets of trigrams, as a float4. word_similarity() and
// strict_word_similarity() are at most the share of the first text's trigrams that the second text has. So a
// bound of theirs bounds a measure of the sets, and a join by that measure has all pairs of the condition,
// which then filters them.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

#include "pg/join/clause/match.hpp"

namespace simjoin::pg {

// What a function of pg_trgm gives: a similarity, 1 - similarity, or whether a setting is reached.
enum class TrigramResult : uint8_t { similarity, distance, reaches_setting };

// A call of pg_trgm on two texts.
struct TrigramCall {
  Oid function;
  TrigramResult result;
  // The call of the measure on the sets of trigrams: measure, call, left and right. It is no less than the
  // similarity, but that the similarity is rounded to single precision.
  SimilarityClause sets;
  const char *setting;  // with TrigramResult::reaches_setting, its name; else NULL
};

// Returns whether the expression is a call of one of pg_trgm's functions or operators that this session can
// join by, and describes it. Functions are recognised by the C function of pg_trgm's library that they are
// bound to. Only superusers can bind one.
bool describe_trigram_call(Node *expr, TrigramCall *call);

// Returns the similarity that the call's setting asks for as an expression of double precision, NULL where
// the user may not read settings. Loads pg_trgm, which defines the setting.
Expr *trigram_setting(const TrigramCall &call);

// Returns whether this session can join by pg_trgm, which is in the schema.
bool can_join_by_trigrams(Oid schema);

}  // namespace simjoin::pg
