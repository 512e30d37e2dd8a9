// Rows packed into blocks, each of which passes a queue of PostgreSQL as one value.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "access/htup_details.h"
#include "executor/tuptable.h"
}

#include "core/join.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {

// What a row of a block consists of: the columns of the descriptor, as they are, and after them the arrays of
// some of these columns once more, detoasted. If there is one array, of integers, the elements of rows in
// which it is a set lie apart from the rows, one row's after another's, as engines take them. Where all other
// columns are passed by value, such rows are packed (packed_rows.hpp) and come first. Where the array is
// compressed or out of line then, its elements do not lie apart.
struct BlockColumns {
  static constexpr int most_arrays = 2;

  TupleDesc descriptor;
  int array_count;
  AttrNumber arrays[most_arrays];  // columns of the descriptor, from 1

  int count() const { return descriptor->natts + array_count; }
};

// Elements that lie apart from their rows.
struct ApartSets {
  bool used;  // by the columns
  TokenType type;
  int column;  // of the set, from 0
  bool packs;  // their rows are packed
  // Of the packed rows, whose columns are the others.
  TupleDesc columns;
  uint32_t row_bytes;
};

// Returns the columns of a row that has been read from a block.
TupleDesc block_row_descriptor(const BlockColumns &columns);

// Bytes that are appended.
struct BlockBytes {
  char *data;
  size_t bytes, allocated;
  size_t before;  // bytes of room in front of the data
};

struct BlockWriter {
  BlockColumns columns;
  ApartSets apart;
  MemoryContext context;  // of the block
  BlockBytes block;       // its header and rows
  BlockBytes packed;      // rows
  BlockBytes lengths;     // of the sets that lie apart
  BlockBytes elements;
};

void init_block_writer(BlockWriter *writer, const BlockColumns &columns, MemoryContext context);

// The room in front of a block: for the header of a tuple whose only column it is.
inline constexpr size_t room_before_block = MAXALIGN(SizeofMinimalTupleHeader);

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
  ApartSets apart;
  const char *packed;  // the next packed row
  uint32_t packed_rows;
  const char *next, *end;  // the other rows
  // Of the next row, or the first one after it, whose set lies apart.
  const uint32_t *length;
  const char *elements;
  // An array that was put together, in the slot's memory context.
  ArrayType *array;
  size_t array_bytes;
};

void init_block_reader(BlockReader *reader, const BlockColumns &columns, TupleTableSlot *slot);

// A block where it lies. It can be copied to any place whose address is a multiple of 8.
struct BlockView {
  const char *data;
  size_t bytes;
};

// Returns the block that end_block() returned, maybe in another process.
BlockView view_block(Datum block);

// Returns the block that begins there.
BlockView block_at(const char *data);

// Begins to read the rows of a block.
void open_block(BlockReader *reader, BlockView block);

// Forgets the rows. There is no next one then, as before the first block.
void forget_block(BlockReader *reader);

// Passes over packed rows, which are the next rows. Their sets are at reader->length and reader->elements.
void pass_packed_rows(BlockReader *reader, const SetSlice &rows);

// Returns the sets of the block's next packed rows, at most `most`. Without rows if there are none.
SetSlice packed_sets(const BlockReader &reader, uint32_t most);

// A row without NULLs, where it lies in a block. It is not packed.
struct BlockRow {
  const char *data;
  uint32_t bytes;
  bool apart;  // its set lies apart
  const Datum *entries;
};

// Gives the block's next row that is not packed, and leaves it the next one. Returns false at the end, and
// where a value is NULL.
bool look_at_block_row(const BlockReader &reader, BlockRow *row);

// Returns a value of that row. Columns are numbered from 1. An array whose elements lie apart is
// put together, and is valid until the next one is.
Datum block_value(BlockReader *reader, const BlockRow &row, AttrNumber column, bool by_value);

// Passes over that row.
void pass_block_row(BlockReader *reader, const BlockRow &row);

// Makes the block's next row the one of the reader's slot. Its values are in the block. Returns false at the
// end.
bool read_block_row(BlockReader *reader);

}  // namespace simjoin::pg
