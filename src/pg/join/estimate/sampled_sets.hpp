// Sets computed from a sample of a table's rows while a query is planned.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

#include "pg/base/growing_array.hpp"
#include "pg/join/estimate/set_origin.hpp"
#include "pg/join/estimate/token_draws.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {

// A set of the sample.
struct DrawnSet {
  uint64 row;  // another one for each row of the table
  size_t begin;
  size_t size;
};

struct DrawnSets {
  double rows;  // that were read, those without a set as well
  GrowingArray<DrawnSet> sets;
  GrowingArray<TokenKey> tokens;  // of one set after the other, each set's ascending
};

// Reads some of the table's rows, or all of a small one, and computes the expression for each. Arrays that
// are no sets count as rows without. Returns false where that raises an error. The result is in the current
// memory context.
bool draw_sets(const SetOrigin &origin, TokenType type, DrawnSets *drawn);

}  // namespace simjoin::pg
