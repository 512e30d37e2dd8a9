// Rows of whole tables that the session keeps for later joins, in blocks as in row_blocks.hpp, up to
// simjoin.input_cache bytes. Rows that were asked for least recently go first.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/rows/row_blocks.hpp"
#include "pg/rows/table_state.hpp"

namespace simjoin::pg {

// What is read of a table: a row for each of its tuples.
struct TableColumns {
  int count;
  AttrNumber *columns;  // of the table, in the order of the row's columns
  int array_count;
  AttrNumber arrays[BlockColumns::most_arrays];  // those that rows have detoasted, too, as in BlockColumns
};

struct CachedRows;

struct CacheReader {
  const CachedRows *rows;  // NULL where nothing is read
  const struct CacheChunk *chunk;
  size_t place;  // of the next block in the chunk
};

// Finds the rows of a table in this state and begins to read them: they stay until the context is reset, even
// if they leave the cache. Returns false where there are none.
bool find_cached_rows(CacheReader *reader, const TableState &state, const TableColumns &columns,
                      MemoryContext context);

// Gives the next block of the rows. Returns false at the end.
bool next_cached_block(CacheReader *reader, BlockView *block);

// Begins to record the rows of a table in this state. The rows belong to the context until keep_rows().
// Returns NULL where there is no memory for them.
CachedRows *begin_recording(const TableState &state, const TableColumns &columns, MemoryContext context);

// Appends a block. Returns false, and drops the record, where there is no memory for it.
bool record_block(CachedRows *rows, BlockView block);

// Keeps a complete record.
void keep_rows(CachedRows *rows);

void drop_record(CachedRows *rows);

// Frees rows until the cache has at most so many bytes.
void shrink_input_cache(size_t bytes);

}  // namespace simjoin::pg
