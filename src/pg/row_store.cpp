#include "pg/row_store.hpp"

extern "C" {
#include "commands/tablespace.h"
#include "utils/memutils.h"
}

#include "pg/compat.hpp"

namespace simjoin::pg {
namespace {

void remember_location(RowStore *store, uint64_t location) {
  if (store->rows == store->rows_allocated) {
    store->rows_allocated = store->rows_allocated < 1024 ? 1024 : store->rows_allocated * 2;
    const Size size = store->rows_allocated * sizeof(uint64_t);
    store->locations =
        static_cast<uint64_t *>(store->locations == nullptr ? MemoryContextAllocHuge(store->context, size)
                                                            : repalloc_huge(store->locations, size));
  }
  store->locations[store->rows++] = location;
}

void append_to_file(RowStore *store, MinimalTuple tuple) {
  if (store->file == nullptr) {
    PrepareTempTablespaces();
    MemoryContext old = MemoryContextSwitchTo(store->context);
    store->file = BufFileCreateTemp(false);
    MemoryContextSwitchTo(old);
  }
  remember_location(store, store->file_bytes);
  BufFileWrite(store->file, tuple, tuple->t_len);
  store->file_bytes += tuple->t_len;
}

void read_exactly(RowStore *store, void *buffer, size_t size) {
  if (BufFileRead(store->file, buffer, size) != size)
    ereport(ERROR, (errcode_for_file_access(), errmsg("could not read a join's temporary file")));
}

// Reads the tuple at this place of the file into the reader's buffer, which grows as it has to.
MinimalTuple read_from_file(RowReader *reader, uint64_t location) {
  RowStore *store = reader->store;
  uint32 length;
  if (BufFileSeek(store->file, 0, static_cast<off_t>(location), SEEK_SET) != 0)
    ereport(ERROR, (errcode_for_file_access(), errmsg("could not seek in a join's temporary file")));
  read_exactly(store, &length, sizeof length);
  if (length > reader->file_row_size) {
    if (reader->file_row != nullptr) pfree(reader->file_row);
    reader->file_row = nullptr;
    reader->file_row = static_cast<MinimalTuple>(MemoryContextAllocHuge(store->context, length));
    reader->file_row_size = length;
  }
  reader->file_row->t_len = length;
  read_exactly(store, reinterpret_cast<char *>(reader->file_row) + sizeof length, length - sizeof length);
  return reader->file_row;
}

}  // namespace

RowStore *create_row_store(MemoryContext parent, TupleDesc descriptor, size_t memory_limit) {
  MemoryContext context = compat::create_generation_context(parent, "simjoin rows");
  auto *store = static_cast<RowStore *>(MemoryContextAllocZero(context, sizeof(RowStore)));
  store->context = context;
  store->descriptor = descriptor;
  store->memory_limit = memory_limit;
  return store;
}

void append_row(RowStore *store, Datum *values, bool *nulls) {
  MemoryContext old = MemoryContextSwitchTo(store->context);
  MinimalTuple tuple = compat::form_minimal_tuple(store->descriptor, values, nulls);
  MemoryContextSwitchTo(old);
  const size_t location_bytes = sizeof(uint64_t);
  if (store->file == nullptr && store->memory_bytes + tuple->t_len + location_bytes <= store->memory_limit) {
    remember_location(store, reinterpret_cast<uint64_t>(tuple));
    store->memory_bytes += tuple->t_len + location_bytes;
    store->memory_rows = store->rows;
    return;
  }
  append_to_file(store, tuple);
  pfree(tuple);
}

void read_row(RowReader *reader, uint32_t row, Datum *values, bool *nulls) {
  RowStore *store = reader->store;
  MinimalTuple tuple = row < store->memory_rows ? reinterpret_cast<MinimalTuple>(store->locations[row])
                                                : read_from_file(reader, store->locations[row]);
  HeapTupleData header;
  header.t_len = tuple->t_len + MINIMAL_TUPLE_OFFSET;
  header.t_data = reinterpret_cast<HeapTupleHeader>(reinterpret_cast<char *>(tuple) - MINIMAL_TUPLE_OFFSET);
  heap_deform_tuple(&header, store->descriptor, values, nulls);
}

void close_row_store(RowStore *store) {
  if (store->file != nullptr) BufFileClose(store->file);
  MemoryContextDelete(store->context);
}

}  // namespace simjoin::pg
