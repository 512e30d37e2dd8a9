// The primary key of a row: what a mark refers to, and what a message may say of a row.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "executor/tuptable.h"
#include "utils/relcache.h"
}

namespace simjoin::pg {

// Returns the number of the column that is the table's primary key, 0 where there is none or it has several
// columns.
AttrNumber key_column(Relation table);

// Returns whether the key of the row `a` is smaller than that of `b`, false where a key cannot be compared.
bool key_is_smaller(Relation table, AttrNumber key, Datum a, Datum b);

// Returns the primary key of the row as "(id)=(1)", "" where there is none. Returns nullptr where the current
// user may not read the key, or not all rows of the table.
const char *readable_key(Relation table, TupleTableSlot *row);

}  // namespace simjoin::pg
