// The rows of one side of a join, by row number: in memory up to a limit, then in a temporary file.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "access/htup_details.h"
#include "executor/tuptable.h"
#include "storage/buffile.h"
}

namespace simjoin::pg {

// Rows are only appended. They are numbered from 0 in the order in which they came, and can be read in any
// order. Where all columns are passed by value, rows are packed and take a few bytes each. Other rows are
// tuples, whose compressed and out-of-line values are kept as they are. The file belongs to the current
// resource owner: close_row_store closes it, after an error PostgreSQL.
struct RowStore {
  MemoryContext context;  // of the store and everything in it
  TupleDesc descriptor;   // of the stored columns
  size_t memory_limit;    // bytes of rows kept in memory
  size_t memory_bytes;    // bytes of rows in memory
  uint32_t rows;
  uint32_t memory_rows;
  BufFile *file;  // NULL while everything fits into memory
  uint64_t file_bytes;
  bool at_end;  // of the file, where the next row is written
  // Where rows are tuples: the address of each, and from row memory_rows on its place in the file.
  uint64_t *locations;
  uint32_t rows_allocated;
  // Where rows are packed.
  uint32_t packed_bytes;  // of a row; 0 where rows are tuples
  int rows_shift;         // a block has 1 << rows_shift rows
  char **blocks;
  uint32_t blocks_allocated;
  char *packed_row;  // the next row for the file
};

// One of the readers of a store.
struct RowReader {
  RowStore *store;
  char *file_row;        // the row read last from the file
  size_t file_row_size;  // bytes allocated for it, in the store's context
};

// Returns an empty store that lives in a new child of `parent`.
RowStore *create_row_store(MemoryContext parent, TupleDesc descriptor, size_t memory_limit);

void append_row(RowStore *store, Datum *values, bool *nulls);

// Appends rows that lie packed one after the other (packed_rows.hpp), where the store packs its rows.
void append_packed_rows(RowStore *store, const char *rows, uint32_t count);

// Deforms a row. Values that are not passed by value stay valid until the reader's next call.
void read_row(RowReader *reader, uint32_t row, Datum *values, bool *nulls);

// Both ask for memory of a row that will be read soon: where the row is, and a while later the row itself.
void prefetch_place(const RowReader *reader, uint32_t row);
void prefetch_row(const RowReader *reader, uint32_t row);

void close_row_store(RowStore *store);

}  // namespace simjoin::pg
