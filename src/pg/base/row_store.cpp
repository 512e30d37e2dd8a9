#include "pg/base/row_store.hpp"

extern "C" {
#include "commands/tablespace.h"
#include "utils/memutils.h"
}

#include "pg/base/compat.hpp"

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

// Returns the bytes of a packed row, whose last ones tell the NULLs. Returns 0 where a column is not passed
// by value.
uint32_t packed_size(TupleDesc descriptor) {
  uint32_t bytes = static_cast<uint32_t>(descriptor->natts + 7) / 8;
  for (int i = 0; i < descriptor->natts; ++i) {
    const Form_pg_attribute column = TupleDescAttr(descriptor, i);
    if (!column->attbyval) return 0;
    bytes += static_cast<uint32_t>(column->attlen);
  }
  return bytes;
}

void pack_row(const RowStore *store, const Datum *values, const bool *nulls, char *row) {
  char *at = row;
  char *bits = row + store->packed_bytes - (store->descriptor->natts + 7) / 8;
  memset(bits, 0, static_cast<size_t>(row + store->packed_bytes - bits));
  for (int i = 0; i < store->descriptor->natts; ++i) {
    const int16 bytes = TupleDescAttr(store->descriptor, i)->attlen;
    const Datum value = nulls[i] ? static_cast<Datum>(0) : values[i];
    if (nulls[i]) bits[i / 8] |= static_cast<char>(1 << i % 8);
    switch (bytes) {
      case 1: {
        *at = DatumGetChar(value);
        break;
      }
      case 2: {
        const int16 number = DatumGetInt16(value);
        memcpy(at, &number, sizeof number);
        break;
      }
      case 4: {
        const int32 number = DatumGetInt32(value);
        memcpy(at, &number, sizeof number);
        break;
      }
      default:
        memcpy(at, &value, sizeof value);
    }
    at += bytes;
  }
}

void unpack_row(const RowStore *store, const char *row, Datum *values, bool *nulls) {
  const char *bits = row + store->packed_bytes - (store->descriptor->natts + 7) / 8;
  for (int i = 0; i < store->descriptor->natts; ++i) {
    const int16 bytes = TupleDescAttr(store->descriptor, i)->attlen;
    nulls[i] = (bits[i / 8] >> i % 8 & 1) != 0;
    switch (bytes) {
      case 1: {
        values[i] = CharGetDatum(*row);
        break;
      }
      case 2: {
        int16 number;
        memcpy(&number, row, sizeof number);
        values[i] = Int16GetDatum(number);
        break;
      }
      case 4: {
        int32 number;
        memcpy(&number, row, sizeof number);
        values[i] = Int32GetDatum(number);
        break;
      }
      default:
        memcpy(&values[i], row, sizeof values[i]);
    }
    row += bytes;
  }
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

void append_packed_row(RowStore *store, const Datum *values, const bool *nulls) {
  if (store->file != nullptr || store->memory_bytes + store->packed_bytes > store->memory_limit) {
    pack_row(store, values, nulls, store->packed_row);
    write_to_file(store, store->packed_row, store->packed_bytes);
    ++store->rows;
    return;
  }
  const uint32_t block = store->rows >> store->rows_shift;
  if ((store->rows & ((1U << store->rows_shift) - 1)) == 0) {
    store->blocks = grown(store, store->blocks, block + 1, &store->blocks_allocated);
    store->blocks[block] = static_cast<char *>(
        MemoryContextAlloc(store->context, size_t{store->packed_bytes} << store->rows_shift));
  }
  pack_row(store, values, nulls, packed_row_in_memory(store, store->rows));
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
  store->packed_bytes = packed_size(descriptor);
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

void read_row(RowReader *reader, uint32_t row, Datum *values, bool *nulls) {
  RowStore *store = reader->store;
  if (store->packed_bytes > 0) return unpack_row(store, packed_row(reader, row), values, nulls);
  MinimalTuple tuple = row < store->memory_rows ? reinterpret_cast<MinimalTuple>(store->locations[row])
                                                : read_tuple(reader, store->locations[row]);
  HeapTupleData header;
  header.t_len = tuple->t_len + MINIMAL_TUPLE_OFFSET;
  header.t_data = reinterpret_cast<HeapTupleHeader>(reinterpret_cast<char *>(tuple) - MINIMAL_TUPLE_OFFSET);
  heap_deform_tuple(&header, store->descriptor, values, nulls);
}

void prefetch_row(const RowReader *reader, uint32_t row) {
  const RowStore *store = reader->store;
  if (store == nullptr || row >= store->memory_rows) return;
  if (store->packed_bytes > 0) {
    __builtin_prefetch(packed_row_in_memory(store, row));
  } else {
    __builtin_prefetch(&store->locations[row]);
  }
}

void close_row_store(RowStore *store) {
  if (store->file != nullptr) BufFileClose(store->file);
  MemoryContextDelete(store->context);
}

}  // namespace simjoin::pg
