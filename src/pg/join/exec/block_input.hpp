// An input of the join operator whose rows come in blocks: from parallel workers, or packed by the session
// because it may keep them (pg/rows/input_cache).
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/execnodes.h"
}

#include "pg/rows/input_cache.hpp"
#include "pg/rows/row_blocks.hpp"

namespace simjoin::pg {

struct BlockInput {
  PlanState *source;  // gives blocks of workers, otherwise rows
  PlanState *rows;    // the node whose rows they are
  BlockReader reader;
  BlockWriter *writer;   // of the session's blocks; NULL where workers pack them
  Relation table;        // that may be cached, else NULL
  TableColumns columns;  // of the table
  EState *estate;
  MemoryContext execution;  // is reset at the end of an execution
  MemoryContext row;        // for a row that is packed

  // Of the current execution.
  bool begun, done;
  TableState state;    // of the table, before its rows are read
  CachedRows *record;  // of this execution's rows, NULL where they are not recorded
  CacheReader cached;

  bool was_cached;  // in some execution
};

// Returns what reads the blocks of an initialized input, NULL where its rows are read one by one. `arrays`
// are the columns of the input's rows that are its sets and weights. The context is reset after each
// execution.
BlockInput *init_block_input(PlanState *input, EState *estate, List *arrays, MemoryContext execution);

// Returns the next row, NULL at the end.
TupleTableSlot *next_block_row(BlockInput *input);

// Forgets the execution. What it left in the context is not used again.
void end_block_input(BlockInput *input);

}  // namespace simjoin::pg
