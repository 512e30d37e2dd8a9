// Rows packed into blocks, each of which passes a queue of PostgreSQL as one value.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "executor/tuptable.h"
}

namespace simjoin::pg {

// What a row of a block consists of: the columns of the descriptor, as they are, and after them the arrays of
// some of these columns once more, detoasted.
struct BlockColumns {
  static constexpr int most_arrays = 2;

  TupleDesc descriptor;
  int array_count;
  AttrNumber arrays[most_arrays];  // columns of the descriptor, from 1

  int count() const { return descriptor->natts + array_count; }
};

// Returns the columns of a row that has been read from a block.
TupleDesc block_row_descriptor(const BlockColumns &columns);

struct BlockWriter {
  BlockColumns columns;
  MemoryContext context;  // of the block
  char *block;
  size_t bytes, allocated;
};

void init_block_writer(BlockWriter *writer, const BlockColumns &columns, MemoryContext context);

// Begins a block. The one before becomes invalid.
void begin_block(BlockWriter *writer);

// Appends a row. What has to be detoasted for that is in the current memory context afterwards.
void append_to_block(BlockWriter *writer, TupleTableSlot *slot);

// Returns whether the block is large enough to be sent.
bool block_is_full(const BlockWriter *writer);

// Returns the block as a value of a variable-length type, which is invalid after the next begin_block().
Datum end_block(BlockWriter *writer);

// Returns about how many rows of so many bytes, as the planner estimates them, are in a block.
double rows_per_block(double row_bytes);

struct BlockReader {
  TupleTableSlot *slot;  // virtual, with the columns of block_row_descriptor()
  const char *next, *end;
};

// Rows one after another. They can be copied to any place whose address is a multiple of 8.
struct RowRun {
  const char *begin, *end;
};

// Returns the rows of a block that end_block() returned, maybe in another process.
RowRun rows_of_block(Datum block);

// Begins to read rows.
inline void open_rows(BlockReader *reader, RowRun run) {
  reader->next = run.begin;
  reader->end = run.end;
}

// Forgets the rows. There is no next one then, as before the first block.
void forget_block(BlockReader *reader);

// A row without NULLs, where it lies in a block.
struct BlockRow {
  const char *data;
  uint32_t bytes;
  const Datum *entries;

  // Returns a value of the row. Columns are numbered from 1.
  Datum value(AttrNumber column, bool by_value) const {
    const Datum entry = entries[column - 1];
    return by_value ? entry : PointerGetDatum(data + entry);
  }
};

// Gives the block's next row, and leaves it the next one. Returns false at the end, and where a value is
// NULL.
bool look_at_block_row(const BlockReader &reader, BlockRow *row);

// Passes over the block's next row.
inline void pass_block_row(BlockReader *reader, const BlockRow &row) {
  reader->next += row.bytes;
}

// Makes the block's next row the one of the reader's slot. Its values are in the block. Returns false at the
// end.
bool read_block_row(BlockReader *reader);

}  // namespace simjoin::pg
