#include "pg/rows/row_store.hpp"

extern "C" {
#include "commands/tablespace.h"
#include "utils/memutils.h"
}

#include "pg/base/compat.hpp"
#include "pg/rows/packed_rows.hpp"

namespace simjoin::pg {
namespace {

// The size of a block of packed rows, about.
constexpr uint32_t block_bytes = 1 << 16;

// Returns an array of at least `needed` elements with the old content; `*allocated` gets its size.
template <class T>
T *grown(RowStore *store, T *array, uint32_t needed, uint32_t *allocated) {
  if (needed <= *allocated) return array;
  *allocated = Max(needed, Max(*allocated * 2, 1024U));
  const Size size = *allocated * sizeof(T);
  return static_cast<T *>(array == nullptr ? MemoryContextAllocHuge(store->context, size)
                                           : repalloc_huge(array, size));
}

void remember_location(RowStore *store, uint64_t location) {
  store->locations = grown(store, store->locations, store->rows + 1, &store->rows_allocated);
  store->locations[store->rows++] = location;
}

char *packed_row_in_memory(const RowStore *store, uint32_t row) {
  const uint32_t within = row & ((1U << store->rows_shift) - 1);
  return store->blocks[row >> store->rows_shift] + size_t{within} * store->packed_bytes;
}

void seek(RowStore *store, uint64_t location) {
  store->at_end = false;
  if (BufFileSeek(store->file, 0, static_cast<off_t>(location), SEEK_SET) != 0)
    ereport(ERROR,
            (errcode_for_file_access(), errmsg("could not seek in the temporary file of a similarity join")));
}

void write_to_file(RowStore *store, void *row, size_t bytes) {
  if (store->file == nullptr) {
    PrepareTempTablespaces();
    MemoryContext old = MemoryContextSwitchTo(store->context);
    store->file = BufFileCreateTemp(false);
    MemoryContextSwitchTo(old);
  }
  // A seek in a file of several segments of 1 GB writes the buffer.
  if (!store->at_end) seek(store, store->file_bytes);
  store->at_end = true;
  BufFileWrite(store->file, row, bytes);
  store->file_bytes += bytes;
}

// Returns whether so many more packed rows fit into memory.
bool fit_memory(const RowStore *store, uint32_t rows) {
  return store->file == nullptr &&
         store->memory_bytes + size_t{rows} * store->packed_bytes <= store->memory_limit;
}

// Returns the place in memory of the next packed row, which fits there. There is room for `*room` rows.
char *room_in_memory(RowStore *store, uint32_t *room) {
  const uint32_t block = store->rows >> store->rows_shift, in_block = 1U << store->rows_shift;
  const uint32_t within = store->rows & (in_block - 1);
  if (within == 0) {
    store->blocks = grown(store, store->blocks, block + 1, &store->blocks_allocated);
    store->blocks[block] = static_cast<char *>(
        MemoryContextAlloc(store->context, size_t{store->packed_bytes} << store->rows_shift));
  }
  *room = in_block - within;
  return packed_row_in_memory(store, store->rows);
}

void append_packed_row(RowStore *store, const Datum *values, const bool *nulls) {
  if (!fit_memory(store, 1)) {
    pack_row(store->descriptor, all_columns, values, nulls, store->packed_row);
    write_to_file(store, store->packed_row, store->packed_bytes);
    ++store->rows;
    return;
  }
  uint32_t room;
  pack_row(store->descriptor, all_columns, values, nulls, room_in_memory(store, &room));
  store->memory_bytes += store->packed_bytes;
  store->memory_rows = ++store->rows;
}

void append_tuple(RowStore *store, Datum *values, bool *nulls) {
  // A tuple for the file would only use up the blocks of those that stay in memory.
  MemoryContext old = MemoryContextSwitchTo(store->file == nullptr ? store->context : CurrentMemoryContext);
  MinimalTuple tuple = compat::form_minimal_tuple(store->descriptor, values, nulls);
  MemoryContextSwitchTo(old);
  const size_t location_bytes = sizeof(uint64_t);
  if (store->file == nullptr && store->memory_bytes + tuple->t_len + location_bytes <= store->memory_limit) {
    remember_location(store, reinterpret_cast<uint64_t>(tuple));
    store->memory_bytes += tuple->t_len + location_bytes;
    store->memory_rows = store->rows;
    return;
  }
  remember_location(store, store->file_bytes);
  write_to_file(store, tuple, tuple->t_len);
  pfree(tuple);
}

void read_exactly(RowStore *store, void *buffer, size_t size) {
  if (BufFileRead(store->file, buffer, size) != size)
    ereport(ERROR,
            (errcode_for_file_access(), errmsg("could not read the temporary file of a similarity join")));
}

// Makes the reader's buffer hold `bytes` bytes.
void make_room(RowReader *reader, size_t bytes) {
  if (bytes <= reader->file_row_size) return;
  if (reader->file_row != nullptr) pfree(reader->file_row);
  reader->file_row = nullptr;
  reader->file_row = static_cast<char *>(MemoryContextAllocHuge(reader->store->context, bytes));
  reader->file_row_size = bytes;
}

// Reads the tuple at this place of the file into the reader's buffer.
MinimalTuple read_tuple(RowReader *reader, uint64_t location) {
  uint32 length;
  seek(reader->store, location);
  read_exactly(reader->store, &length, sizeof length);
  make_room(reader, length);
  auto *tuple = reinterpret_cast<MinimalTuple>(reader->file_row);
  tuple->t_len = length;
  read_exactly(reader->store, reader->file_row + sizeof length, length - sizeof length);
  return tuple;
}

const char *packed_row(RowReader *reader, uint32_t row) {
  RowStore *store = reader->store;
  if (row < store->memory_rows) return packed_row_in_memory(store, row);
  make_room(reader, store->packed_bytes);
  seek(store, uint64_t{row - store->memory_rows} * store->packed_bytes);
  read_exactly(store, reader->file_row, store->packed_bytes);
  return reader->file_row;
}

}  // namespace

RowStore *create_row_store(MemoryContext parent, TupleDesc descriptor, size_t memory_limit) {
  MemoryContext context = compat::create_generation_context(parent, "simjoin rows");
  auto *store = static_cast<RowStore *>(MemoryContextAllocZero(context, sizeof(RowStore)));
  store->context = context;
  store->descriptor = descriptor;
  store->memory_limit = memory_limit;
  store->packed_bytes = packed_row_bytes(descriptor, all_columns);
  if (store->packed_bytes > 0) {
    while ((size_t{store->packed_bytes} << (store->rows_shift + 1)) <= block_bytes) ++store->rows_shift;
    store->packed_row = static_cast<char *>(MemoryContextAlloc(context, store->packed_bytes));
  }
  return store;
}

void append_row(RowStore *store, Datum *values, bool *nulls) {
  if (store->packed_bytes > 0) {
    append_packed_row(store, values, nulls);
  } else {
    append_tuple(store, values, nulls);
  }
}

void append_packed_rows(RowStore *store, const char *rows, uint32_t count) {
  while (count > 0 && fit_memory(store, 1)) {
    uint32_t some;
    char *place = room_in_memory(store, &some);
    some = fit_memory(store, Min(some, count)) ? Min(some, count) : 1;
    const size_t bytes = size_t{some} * store->packed_bytes;
    memcpy(place, rows, bytes);
    store->memory_bytes += bytes;
    store->memory_rows = store->rows += some;
    rows += bytes;
    count -= some;
  }
  if (count == 0) return;
  write_to_file(store, const_cast<char *>(rows), size_t{count} * store->packed_bytes);
  store->rows += count;
}

void read_row(RowReader *reader, uint32_t row, Datum *values, bool *nulls) {
  RowStore *store = reader->store;
  if (store->packed_bytes > 0)
    return unpack_row(store->descriptor, all_columns, packed_row(reader, row), values, nulls);
  MinimalTuple tuple = row < store->memory_rows ? reinterpret_cast<MinimalTuple>(store->locations[row])
                                                : read_tuple(reader, store->locations[row]);
  HeapTupleData header;
  header.t_len = tuple->t_len + MINIMAL_TUPLE_OFFSET;
  header.t_data = reinterpret_cast<HeapTupleHeader>(reinterpret_cast<char *>(tuple) - MINIMAL_TUPLE_OFFSET);
  heap_deform_tuple(&header, store->descriptor, values, nulls);
}

void prefetch_place(const RowReader *reader, uint32_t row) {
  const RowStore *store = reader->store;
  if (store == nullptr || row >= store->memory_rows) return;
  if (store->packed_bytes > 0) {
    __builtin_prefetch(packed_row_in_memory(store, row));
  } else {
    __builtin_prefetch(&store->locations[row]);
  }
}

void prefetch_row(const RowReader *reader, uint32_t row) {
  const RowStore *store = reader->store;
  if (store == nullptr || row >= store->memory_rows || store->packed_bytes > 0) return;
  __builtin_prefetch(reinterpret_cast<const void *>(store->locations[row]));
}

void close_row_store(RowStore *store) {
  if (store->file != nullptr) BufFileClose(store->file);
  MemoryContextDelete(store->context);
}

}  // namespace simjoin::pg
