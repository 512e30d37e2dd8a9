#include "pg/base/row_blocks.hpp"

extern "C" {
#include "access/detoast.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"
}

#include "pg/base/compat.hpp"

namespace simjoin::pg {
namespace {

// From this size on a block is sent. Two blocks fit into a queue of PostgreSQL, which has 64 kB, so that a
// worker seldom waits for the session.
constexpr size_t full_block = size_t{24} << 10;

// A shorter value could get a header of one byte on its way, after which its rows would not be aligned.
constexpr size_t least_block = 256;

// An array that is larger is detoasted by the session. A block that has it would take as much memory several
// times.
constexpr size_t most_detoasted = size_t{256} << 10;

struct BlockHeader {
  int32 varlena;
  uint32 bytes;  // of the block, without what fills it up to least_block
};

// After the header of a row come its entries. That of a column that is passed by value is the value, others
// are the distance of the value from the row. Then come a byte for each column, 1 where it is NULL, if
// `has_nulls`. The values are last.
struct RowHeader {
  uint32 bytes;
  uint32 has_nulls;
};

static_assert(sizeof(BlockHeader) % MAXIMUM_ALIGNOF == 0 && sizeof(RowHeader) % MAXIMUM_ALIGNOF == 0);
static_assert(sizeof(Datum) == sizeof(uint64));

// Appends room to the block and returns its place. `alignment` is 4 or 8.
size_t add_room(BlockWriter *writer, size_t bytes, size_t alignment) {
  const size_t place = TYPEALIGN(alignment, writer->bytes);
  writer->bytes = place + bytes;
  if (writer->bytes > writer->allocated) {
    writer->allocated = Max(writer->bytes, Min(writer->allocated * 2, MaxAllocSize));
    writer->block = static_cast<char *>(repalloc(writer->block, writer->allocated));
  }
  return place;
}

size_t add_bytes(BlockWriter *writer, const void *data, size_t bytes, size_t alignment) {
  const size_t place = add_room(writer, bytes, alignment);
  memcpy(writer->block + place, data, bytes);
  return place;
}

// Returns whether a value has a header of one byte before its data. PostgreSQL's macro is true of references,
// too.
bool is_short(Pointer data) {
  return VARATT_IS_SHORT(data) && !VARATT_IS_EXTERNAL(data);
}

// Appends a value that is not passed by value, and returns its place.
size_t add_value(BlockWriter *writer, const FormData_pg_attribute *column, Datum value) {
  const size_t alignment = column->attalign == TYPALIGN_DOUBLE ? sizeof(double) : sizeof(int32);
  Pointer data = DatumGetPointer(value);
  if (column->attlen > 0) return add_bytes(writer, data, static_cast<size_t>(column->attlen), alignment);
  if (column->attlen == -2) return add_bytes(writer, data, strlen(data) + 1, alignment);
  // What lies in this process's memory stays here.
  if (VARATT_IS_EXTERNAL(data) && !VARATT_IS_EXTERNAL_ONDISK(data))
    data = reinterpret_cast<Pointer>(PG_DETOAST_DATUM(value));
  return add_bytes(writer, data, VARSIZE_ANY(data), alignment);
}

// Appends an array, and returns its place: with a header of four bytes, unless it is too large for that.
size_t add_array(BlockWriter *writer, const FormData_pg_attribute *column, Datum value) {
  const size_t alignment = column->attalign == TYPALIGN_DOUBLE ? sizeof(double) : sizeof(int32);
  Pointer data = DatumGetPointer(value);
  if (is_short(data)) {
    const size_t bytes = VARSIZE_SHORT(data) - VARHDRSZ_SHORT;
    const size_t place = add_room(writer, VARHDRSZ + bytes, alignment);
    SET_VARSIZE(writer->block + place, VARHDRSZ + bytes);
    memcpy(writer->block + place + VARHDRSZ, VARDATA_SHORT(data), bytes);
    return place;
  }
  if (VARATT_IS_EXTENDED(data) && toast_raw_datum_size(value) <= most_detoasted)
    data = reinterpret_cast<Pointer>(PG_DETOAST_DATUM(value));
  return add_value(writer, column, PointerGetDatum(data));
}

bool is_array(const BlockColumns &columns, int column) {
  for (int i = 0; i < columns.array_count; ++i)
    if (columns.arrays[i] == column + 1) return true;
  return false;
}

// Returns whether the value is kept as it is, compressed or out of line, beside the detoasted array.
bool is_toasted(Datum value) {
  Pointer data = DatumGetPointer(value);
  return VARATT_IS_COMPRESSED(data) || VARATT_IS_EXTERNAL_ONDISK(data);
}

Datum *entries_at(char *row) {
  return reinterpret_cast<Datum *>(row + sizeof(RowHeader));
}

}  // namespace

TupleDesc block_row_descriptor(const BlockColumns &columns) {
  TupleDesc descriptor = CreateTemplateTupleDesc(columns.count());
  const auto natts = static_cast<AttrNumber>(columns.descriptor->natts);
  for (AttrNumber i = 1; i <= natts; ++i) TupleDescCopyEntry(descriptor, i, columns.descriptor, i);
  for (int i = 0; i < columns.array_count; ++i)
    TupleDescCopyEntry(descriptor, static_cast<AttrNumber>(natts + i + 1), columns.descriptor,
                       columns.arrays[i]);
  return descriptor;
}

void init_block_writer(BlockWriter *writer, const BlockColumns &columns, MemoryContext context) {
  writer->columns = columns;
  writer->context = context;
  writer->allocated = full_block + full_block / 4;
  writer->block = static_cast<char *>(MemoryContextAlloc(context, writer->allocated));
}

void begin_block(BlockWriter *writer) {
  writer->bytes = sizeof(BlockHeader);
}

void append_to_block(BlockWriter *writer, TupleTableSlot *slot) {
  const BlockColumns &columns = writer->columns;
  const int natts = columns.descriptor->natts, count = columns.count();
  slot_getallattrs(slot);
  bool has_nulls = false;
  for (int i = 0; i < natts; ++i) has_nulls |= slot->tts_isnull[i];
  const size_t row = add_room(writer, sizeof(RowHeader) + sizeof(Datum) * count, MAXIMUM_ALIGNOF);
  const size_t nulls = has_nulls ? add_room(writer, count, sizeof(int32)) : 0;
  const auto set_entry = [&](int column, Datum entry) {
    entries_at(writer->block + row)[column] = entry;
    if (has_nulls) writer->block[nulls + column] = 0;
  };
  if (has_nulls) memset(writer->block + nulls, 1, count);
  for (int i = 0; i < natts; ++i) {
    const FormData_pg_attribute *column = TupleDescAttr(columns.descriptor, i);
    const Datum value = slot->tts_values[i];
    if (slot->tts_isnull[i]) continue;
    if (column->attbyval)
      set_entry(i, value);
    else if (!is_array(columns, i) || is_toasted(value))
      set_entry(i, add_value(writer, column, value) - row);
  }
  for (int i = 0; i < columns.array_count; ++i) {
    const int from = columns.arrays[i] - 1;
    if (slot->tts_isnull[from]) continue;
    const Datum value = slot->tts_values[from];
    const size_t place = add_array(writer, TupleDescAttr(columns.descriptor, from), value) - row;
    set_entry(natts + i, place);
    if (!is_toasted(value)) set_entry(from, place);
  }
  add_room(writer, 0, MAXIMUM_ALIGNOF);
  *reinterpret_cast<RowHeader *>(writer->block + row) = {static_cast<uint32>(writer->bytes - row), has_nulls};
}

bool block_is_full(const BlockWriter *writer) {
  return writer->bytes >= full_block;
}

Datum end_block(BlockWriter *writer) {
  auto *header = reinterpret_cast<BlockHeader *>(writer->block);
  header->bytes = static_cast<uint32>(writer->bytes);
  SET_VARSIZE(header, Max(writer->bytes, least_block));
  return PointerGetDatum(header);
}

double rows_per_block(double row_bytes) {
  return Max(full_block / Max(row_bytes, 1.0), 1.0);
}

RowRun rows_of_block(Datum block) {
  const char *data = DatumGetPointer(block);
  const auto *header = reinterpret_cast<const BlockHeader *>(data);
  Assert(!VARATT_IS_EXTENDED(data) && data == reinterpret_cast<const char *>(MAXALIGN(data)));
  return {data + sizeof(BlockHeader), data + header->bytes};
}

void forget_block(BlockReader *reader) {
  ExecClearTuple(reader->slot);
  reader->next = reader->end = nullptr;
}

bool look_at_block_row(const BlockReader &reader, BlockRow *row) {
  if (reader.next == reader.end) return false;
  const auto *header = reinterpret_cast<const RowHeader *>(reader.next);
  *row = {reader.next, header->bytes, reinterpret_cast<const Datum *>(reader.next + sizeof(RowHeader))};
  return header->has_nulls == 0;
}

bool read_block_row(BlockReader *reader) {
  TupleTableSlot *slot = reader->slot;
  ExecClearTuple(slot);
  if (reader->next == reader->end) return false;
  const char *row = reader->next;
  const auto *header = reinterpret_cast<const RowHeader *>(row);
  const auto *entries = reinterpret_cast<const Datum *>(row + sizeof(RowHeader));
  const int count = slot->tts_tupleDescriptor->natts;
  for (int i = 0; i < count; ++i) {
    const bool by_value = TupleDescAttr(slot->tts_tupleDescriptor, i)->attbyval;
    slot->tts_values[i] = by_value ? entries[i] : PointerGetDatum(row + entries[i]);
  }
  if (header->has_nulls) {
    memcpy(slot->tts_isnull, entries + count, count);
  } else {
    memset(slot->tts_isnull, 0, count);
  }
  reader->next += header->bytes;
  ExecStoreVirtualTuple(slot);
  return true;
}

}  // namespace simjoin::pg
