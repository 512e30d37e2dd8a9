// Sums of similarities and constants, as conditions are made of them.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pg_list.h"
}

#include "pg/join/clause/jaro.hpp"
#include "pg/join/clause/match.hpp"

namespace simjoin::pg {

// A similarity or a distance of a sum, and its factor. It is at least 0 and at most `most()`.
struct Term {
  SimilarityClause call;  // with measure, distance, call, left and right
  double factor;
  JaroKind jaro;  // of texts, whose sets have the measure of the call
  bool edits;     // a share of edits, whose texts have the keys of the call

  double most() const;
  double weight() const;

  // Returns whether the sum becomes larger as sets become more similar.
  bool rises() const { return call.distance ? factor < 0 : factor > 0; }
};

// A sum of constants and terms.
struct Sum {
  double constant;
  double size;  // of all that was added, without signs
  // How far what PostgreSQL computes may be from the sum: as a share of its size, and in all.
  double rounding;
  double error;
  List *terms;
};

// How far a number of double precision may be from the sum that it stands for, as a share of the size, and
// what each number of single precision adds, and each number that is written with six digits, as a numeric
// made of single precision or the text of a setting. Doubles are more exact by orders of magnitude, for any
// sum that a query can have.
inline constexpr double double_rounding = 1e-9;
inline constexpr double single_rounding = 1e-7;
inline constexpr double digits_rounding = 1e-5;

// Adds factor * expr to the sum. The expression is made of similarities, distances and constants by +, -, *
// and / with a constant, casts, and functions that round. Returns false for other expressions.
bool add_to_sum(Node *expr, double factor, Sum *sum);

// Returns whether the expression is a finite number, and gives it.
bool constant_value(Node *expr, double *value);

// Gives the sum of the first expression without the second one. Returns false where it is no sum.
bool describe_difference(Node *greater, Node *lesser, Sum *sum);

// Returns what weight() * similarity of the terms that rise must add up to, if the sum is at least 0. A
// distance stands for the similarity 1 - distance.
double needed_gain(const Sum &sum);

// Returns the expression below casts between numbers.
Node *without_cast(Node *expr);

}  // namespace simjoin::pg
