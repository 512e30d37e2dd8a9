// The row that is most similar to a set, also among rows that other transactions have just written.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "executor/tuptable.h"
#include "storage/itemptr.h"
}

#include "pg/guard/guard.hpp"
#include "pg/guard/upsert.hpp"

namespace simjoin::pg {

// Where a version of a row is.
struct RowPlace {
  Oid table;
  ItemPointerData place;

  bool is(Relation other_table, const ItemPointerData &other_place) const;
};

struct SimilarRow {
  bool found;
  double similarity;
  RowPlace at;
};

// Returns the row that is most similar to the set, and at least as similar as the guard's threshold. Of
// equally similar rows it is the one with the smallest primary key. `own` are versions of the row that has
// the set, which do not count. Nor does the row that `upsert` updates; nullptr where the statement is none.
// Rows do not count either that are marked in a column that the guard ignores them by.
//
// Rows count that are committed, whether the transaction's snapshot sees them or not, and rows of this
// transaction. Where it depends on other transactions whether there is a similar row, waits for them.
SimilarRow find_similar_row(const Guard &guard, Datum set, std::initializer_list<RowPlace> own,
                            Upsert *upsert = nullptr);

}  // namespace simjoin::pg
