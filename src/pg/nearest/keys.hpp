// Equalities between the rows and the outer row keep rows apart: only rows of the same key are looked at.
//
// As in the join operator, the hash of a row's key is mixed into its tokens. The equalities are still
// evaluated.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
}

#include "pg/base/growing_array.hpp"

namespace simjoin::pg {

// Expressions of a key, in the same order in each list.
struct KeyExpressions {
  List *of_rows;
  List *of_outer;
  List *functions;   // oids, three a pair of expressions: the hash functions of either, and the collation
  List *conditions;  // the RestrictInfos
};

// Returns the equalities among the conditions (RestrictInfos) between a value of the relation alone and one
// without its columns.
KeyExpressions find_key_expressions(PlannerInfo *root, RelOptInfo *rel, List *conditions);

// A side of the keys in the executor.
struct KeySide {
  int count;
  ExprState **values;
  FmgrInfo *hash;
  Oid *collation;
};

// `first` is 0 for the side of the rows, and 1 for the outer one.
KeySide init_key_side(List *expressions, List *functions, int first, PlanState *parent);

// Gives the hash of the current row's key. Returns false if a value is NULL, which equals nothing.
bool hash_of_key(const KeySide &side, ExprContext *context, uint64_t *hash);

// A row and the hash of its key.
struct KeyedRow {
  uint64_t hash;
  uint32_t row;

  bool operator<(const KeyedRow &other) const {
    return hash != other.hash ? hash < other.hash : row < other.row;
  }
};

// Returns the rows that have the hash, which are one after the other in sorted rows.
struct KeyedRange {
  const KeyedRow *rows;
  uint32_t count;
};
KeyedRange rows_of_key(const GrowingArray<KeyedRow> &sorted, uint64_t hash);

}  // namespace simjoin::pg
