// Rows that parallel workers read. Below PostgreSQL's Gather, the node RowBlocks packs many rows into one
// value, so that a row costs little on its way to the session.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
}

#include "pg/rows/row_blocks.hpp"

namespace simjoin::pg {

// How RowBlocks makes sets of texts.
struct RowSets;

// Returns a path that reads a partial path of the relation by workers, in blocks of rows. `arrays` are the
// expressions of its output that are sets or weights. The path's one column has no meaning in SQL.
Path *gather_blocks(PlannerInfo *root, RelOptInfo *rel, Path *partial, List *arrays);

// Returns the cost of packing the rows of a path into blocks, and of the way of their bytes.
double cost_of_packing(const Path *rows);

// Returns a plan of RowBlocks over a finished plan, for a Gather above it. `arrays` are the numbers of its
// columns that are sets or weights. With a tokenizer, the second column is a text, and RowBlocks makes its
// set instead.
Plan *pack_rows(Plan *rows, List *arrays, const char *tokenizer);

// Returns the plan whose rows an input of the join consists of: the plan below RowBlocks, else the plan.
Plan *plan_of_rows(Plan *input);

// Returns the number of a child's output column that is the expression. It does not matter which outer joins
// made its columns nullable. Returns InvalidAttrNumber without one.
AttrNumber column_of(List *tlist, Node *expr);

// Returns the planner's estimate of an input's rows.
double rows_of_input(Plan *input);

// Gives the node below RowBlocks and the columns of its blocks. Returns false for an input that comes row by
// row, without a Gather and RowBlocks below it.
bool find_blocks(PlanState *input, PlanState **rows, BlockColumns *columns);

// Begins a block and fills it with the node's next rows. Returns false if there is none, and sets `*done` at
// the last one. What a row needs on its way is in a context for that. `sets` makes sets of texts, if it is
// not NULL.
bool fill_block(BlockWriter *writer, PlanState *rows, MemoryContext row_context, bool *done,
                RowSets *sets = nullptr);

// Makes RowBlocks known to PostgreSQL. Called once, when the module is loaded.
void register_block_methods();

}  // namespace simjoin::pg
