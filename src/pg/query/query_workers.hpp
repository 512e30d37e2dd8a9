// Queries whose rows come from parallel workers in blocks.
//
// The planner is told that rows in blocks cost less on their way than rows one by one, and that workers make
// sets of texts. It plans an ordinary Gather. Before it is executed, RowBlocks (pg/rows/parallel_rows) is put
// below it.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "executor/execdesc.h"
}

#include "pg/rows/row_blocks.hpp"

namespace simjoin::pg {

// The rows of a query's blocks.
struct QueryBlocks {
  TupleDesc columns;                                   // of the query; NULL where rows come one by one
  int arrays[BlockColumns::most_arrays], array_count;  // columns that are detoasted, from 0
  BlockReader reader;
  bool has_sets;  // workers have made sets of the texts in the second column
};

// A query that is planned for blocks. With a tokenizer, sets are made of the texts in its second column.
struct BlockQuery {
  const char *tokenizer;
};

// Has the planner plan the next statement for blocks, or none if `query` is NULL.
void plan_for_blocks(const BlockQuery *query);

// Puts RowBlocks into the plan of a query that is about to start, where a Gather returns its rows as they
// are. Returns whether it does.
bool pack_plan(QueryDesc *query, const BlockQuery &how, QueryBlocks *blocks);

// Begins to read the blocks of a query that has started and whose plan has RowBlocks.
void open_blocks(QueryDesc *query, QueryBlocks *blocks);

// Makes the next row of the block the one of the reader's slot, in which arrays are detoasted. Returns false
// at the end.
bool next_row_of_block(QueryBlocks *blocks);

// Installs what tells the planner of blocks. Called when the library is loaded.
void install_block_paths();

}  // namespace simjoin::pg
