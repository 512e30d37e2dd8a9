// INSERT ... ON CONFLICT DO UPDATE: the stored row that it updates, if any, instead of storing the new row.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "nodes/pg_list.h"
#include "utils/relcache.h"
}

namespace simjoin::pg {

struct Upsert {
  Relation table;
  TupleTableSlot *row;   // the new one
  const List *arbiters;  // the unique indexes that decide: the table's, or those of a partitioned table above

  // Made with the first call of has_key_of, in its memory context.
  EState *state;
  TupleTableSlot *whole;
  List *indexes;
};

// Returns whether the version of a row of the table has the new row's key in an index that decides.
bool has_key_of(Upsert *upsert, Relation table, TupleTableSlot *version);

}  // namespace simjoin::pg
