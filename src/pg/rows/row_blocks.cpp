#include "pg/rows/row_blocks.hpp"

extern "C" {
#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"
}

#include "pg/base/compat.hpp"
#include "pg/rows/packed_rows.hpp"

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

// Where elements lie apart, the packed rows follow the others, then come the lengths of the sets, then the
// elements.
struct BlockHeader {
  int32_t varlena;
  uint32 bytes;     // of the block, without what fills it up to least_block
  uint32 rows_end;  // where its rows that are not packed end
  uint32 lengths;   // the number of sets that lie apart
};

// After the header of a row come its entries. That of a column that is passed by value is the value, others
// are the distance of the value from the row, or 0 for an array whose elements lie apart. Then come a byte
// for each column, 1 where it is NULL, if `has_nulls`. The values are last.
struct RowHeader {
  uint32 bytes;
  uint16 has_nulls;
  uint16 apart;  // the set lies apart
};

// The fields of an array of one dimension without NULLs, but for its length in bytes.
struct ArrayHead {
  int32 dimensions;
  int32 data_offset;
  Oid element_type;
  int32 count;
  int32 lower_bound;
};

static_assert(sizeof(BlockHeader) % MAXIMUM_ALIGNOF == 0 && sizeof(RowHeader) % MAXIMUM_ALIGNOF == 0);
static_assert(sizeof(Datum) == sizeof(uint64) && VARHDRSZ + sizeof(ArrayHead) == ARR_OVERHEAD_NONULLS(1));

BlockBytes new_bytes(MemoryContext context, size_t size, size_t before = 0) {
  return {static_cast<char *>(MemoryContextAlloc(context, before + size)) + before, 0, size, before};
}

// Appends room and returns its place. `alignment` is 4 or 8.
size_t add_room(BlockBytes *to, size_t bytes, size_t alignment) {
  const size_t place = TYPEALIGN(alignment, to->bytes);
  to->bytes = place + bytes;
  if (to->bytes > to->allocated) {
    to->allocated = Max(to->bytes, Min(to->allocated * 2, MaxAllocSize - to->before));
    to->data = static_cast<char *>(repalloc(to->data - to->before, to->before + to->allocated)) + to->before;
  }
  return place;
}

size_t add_bytes(BlockBytes *to, const void *data, size_t bytes, size_t alignment) {
  const size_t place = add_room(to, bytes, alignment);
  memcpy(to->data + place, data, bytes);
  return place;
}

// Returns whether a value has a header of one byte before its data. PostgreSQL's macro is true of references,
// too.
bool is_short(Pointer data) {
  return VARATT_IS_SHORT(data) && !VARATT_IS_EXTERNAL(data);
}

// Appends a value that is not passed by value, and returns its place.
size_t add_value(BlockBytes *block, const FormData_pg_attribute *column, Datum value) {
  const size_t alignment = column->attalign == TYPALIGN_DOUBLE ? sizeof(double) : sizeof(int32);
  Pointer data = DatumGetPointer(value);
  if (column->attlen > 0) return add_bytes(block, data, static_cast<size_t>(column->attlen), alignment);
  if (column->attlen == -2) return add_bytes(block, data, strlen(data) + 1, alignment);
  // What lies in this process's memory stays here.
  if (VARATT_IS_EXTERNAL(data) && !VARATT_IS_EXTERNAL_ONDISK(data))
    data = reinterpret_cast<Pointer>(PG_DETOAST_DATUM(value));
  return add_bytes(block, data, VARSIZE_ANY(data), alignment);
}

// Appends an array, and returns its place: with a header of four bytes, unless it is too large for that.
size_t add_array(BlockBytes *block, const FormData_pg_attribute *column, Datum value) {
  const size_t alignment = column->attalign == TYPALIGN_DOUBLE ? sizeof(double) : sizeof(int32);
  Pointer data = DatumGetPointer(value);
  if (is_short(data)) {
    const size_t bytes = VARSIZE_SHORT(data) - VARHDRSZ_SHORT;
    const size_t place = add_room(block, VARHDRSZ + bytes, alignment);
    SET_VARSIZE(block->data + place, VARHDRSZ + bytes);
    memcpy(block->data + place + VARHDRSZ, VARDATA_SHORT(data), bytes);
    return place;
  }
  if (VARATT_IS_EXTENDED(data) && toast_raw_datum_size(value) <= most_detoasted)
    data = reinterpret_cast<Pointer>(PG_DETOAST_DATUM(value));
  return add_value(block, column, PointerGetDatum(data));
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

size_t width_of(const ApartSets &apart) {
  return apart.type == TokenType::int8 ? sizeof(int64) : sizeof(int32);
}

Oid element_type_of(const ApartSets &apart) {
  return apart.type == TokenType::int8 ? INT8OID : INT4OID;
}

// Returns whether sets of these columns may lie apart, and how.
ApartSets apart_sets(const BlockColumns &columns) {
  ApartSets apart = {};
  if (columns.array_count != 1) return apart;
  apart.column = columns.arrays[0] - 1;
  const Oid array_type = TupleDescAttr(columns.descriptor, apart.column)->atttypid;
  apart.used = token_type_of(array_type, &apart.type) && apart.type != TokenType::text;
  if (!apart.used) return apart;
  apart.columns = columns.descriptor;
  apart.row_bytes = packed_row_bytes(apart.columns, apart.column);
  apart.packs = apart.row_bytes > 0 || apart.columns->natts == 1;
  return apart;
}

// Appends the elements of an array that is a set and not empty. Returns false, and appends nothing, for
// others and for large ones.
bool append_apart(BlockWriter *writer, Datum value) {
  Pointer data = DatumGetPointer(value);
  if (is_short(data) ? false : VARATT_IS_EXTENDED(data)) {
    if (toast_raw_datum_size(value) > most_detoasted) return false;
    data = reinterpret_cast<Pointer>(PG_DETOAST_DATUM(value));
  }
  const size_t bytes = VARSIZE_ANY_EXHDR(data), width = width_of(writer->apart);
  ArrayHead head;
  if (bytes <= sizeof head || bytes > most_detoasted) return false;
  memcpy(&head, VARDATA_ANY(data), sizeof head);
  if (head.dimensions != 1 || head.data_offset != 0 || head.lower_bound != 1 ||
      head.element_type != element_type_of(writer->apart) ||
      bytes != sizeof head + width * static_cast<size_t>(head.count))
    return false;
  add_bytes(&writer->lengths, &head.count, sizeof(uint32), sizeof(uint32));
  add_bytes(&writer->elements, VARDATA_ANY(data) + sizeof head, bytes - sizeof head, width);
  return true;
}

// Appends a packed row, whose set has just been appended.
void append_packed(BlockWriter *writer, const TupleTableSlot *slot) {
  const ApartSets &apart = writer->apart;
  const size_t row = add_room(&writer->packed, apart.row_bytes, 1);
  pack_row(apart.columns, apart.column, slot->tts_values, slot->tts_isnull, writer->packed.data + row);
}

// Puts the array of the next set that lies apart together.
Datum next_array(BlockReader *reader) {
  const uint32_t count = *reader->length;
  const size_t elements = width_of(reader->apart) * count, bytes = ARR_OVERHEAD_NONULLS(1) + elements;
  if (bytes > reader->array_bytes) {
    if (reader->array != nullptr) pfree(reader->array);
    reader->array = nullptr;
    reader->array = static_cast<ArrayType *>(MemoryContextAlloc(reader->slot->tts_mcxt, bytes));
    reader->array_bytes = bytes;
  }
  ArrayType *array = reader->array;
  SET_VARSIZE(array, bytes);
  array->ndim = 1;
  array->dataoffset = 0;
  array->elemtype = element_type_of(reader->apart);
  *ARR_DIMS(array) = static_cast<int>(count);
  *ARR_LBOUND(array) = 1;
  memcpy(ARR_DATA_PTR(array), reader->elements, elements);
  return PointerGetDatum(array);
}

// Makes the next packed row the one of the reader's slot.
void read_packed_row(BlockReader *reader) {
  const ApartSets &apart = reader->apart;
  TupleTableSlot *slot = reader->slot;
  unpack_row(apart.columns, apart.column, reader->packed, slot->tts_values, slot->tts_isnull);
  const Datum array = next_array(reader);
  for (const int column : {apart.column, apart.columns->natts}) {
    slot->tts_values[column] = array;
    slot->tts_isnull[column] = false;
  }
  pass_packed_rows(reader, packed_sets(*reader, 1));
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
  writer->apart = apart_sets(columns);
  writer->context = context;
  writer->block = new_bytes(context, full_block + full_block / 4, room_before_block);
  if (!writer->apart.used) return;
  writer->packed = new_bytes(context, full_block / 8);
  writer->lengths = new_bytes(context, full_block / 8);
  writer->elements = new_bytes(context, full_block);
}

void begin_block(BlockWriter *writer) {
  writer->block.bytes = sizeof(BlockHeader);
  writer->packed.bytes = writer->lengths.bytes = writer->elements.bytes = 0;
}

void append_to_block(BlockWriter *writer, TupleTableSlot *slot) {
  const BlockColumns &columns = writer->columns;
  BlockBytes *block = &writer->block;
  const int natts = columns.descriptor->natts, count = columns.count();
  slot_getallattrs(slot);
  const int set = writer->apart.column;
  const bool apart = writer->apart.used && !slot->tts_isnull[set] &&
                     !(writer->apart.packs && is_toasted(slot->tts_values[set])) &&
                     append_apart(writer, slot->tts_values[set]);
  if (apart && writer->apart.packs) return append_packed(writer, slot);
  bool has_nulls = false;
  for (int i = 0; i < natts; ++i) has_nulls |= slot->tts_isnull[i];
  const size_t row = add_room(block, sizeof(RowHeader) + sizeof(Datum) * count, MAXIMUM_ALIGNOF);
  const size_t nulls = has_nulls ? add_room(block, count, sizeof(int32)) : 0;
  const auto set_entry = [&](int column, Datum entry) {
    entries_at(block->data + row)[column] = entry;
    if (has_nulls) block->data[nulls + column] = 0;
  };
  if (has_nulls) memset(block->data + nulls, 1, count);
  for (int i = 0; i < natts; ++i) {
    const FormData_pg_attribute *column = TupleDescAttr(columns.descriptor, i);
    const Datum value = slot->tts_values[i];
    if (slot->tts_isnull[i]) continue;
    if (column->attbyval)
      set_entry(i, value);
    else if (!is_array(columns, i) || is_toasted(value))
      set_entry(i, add_value(block, column, value) - row);
  }
  for (int i = 0; i < columns.array_count; ++i) {
    const int from = columns.arrays[i] - 1;
    if (slot->tts_isnull[from]) continue;
    const Datum value = slot->tts_values[from];
    const size_t place = apart ? 0 : add_array(block, TupleDescAttr(columns.descriptor, from), value) - row;
    set_entry(natts + i, place);
    if (!is_toasted(value)) set_entry(from, place);
  }
  add_room(block, 0, MAXIMUM_ALIGNOF);
  *reinterpret_cast<RowHeader *>(block->data + row) = {static_cast<uint32>(block->bytes - row), has_nulls,
                                                       apart};
}

bool block_is_full(const BlockWriter *writer) {
  return writer->block.bytes + writer->packed.bytes + writer->lengths.bytes + writer->elements.bytes >=
         full_block;
}

Datum end_block(BlockWriter *writer) {
  BlockBytes *block = &writer->block;
  const size_t rows_end = block->bytes;
  add_bytes(block, writer->packed.data, writer->packed.bytes, 1);
  add_bytes(block, writer->lengths.data, writer->lengths.bytes, sizeof(uint32));
  add_bytes(block, writer->elements.data, writer->elements.bytes, MAXIMUM_ALIGNOF);
  add_room(block, 0, MAXIMUM_ALIGNOF);
  auto *header = reinterpret_cast<BlockHeader *>(block->data);
  header->bytes = static_cast<uint32>(block->bytes);
  header->rows_end = static_cast<uint32>(rows_end);
  header->lengths = static_cast<uint32>(writer->lengths.bytes / sizeof(uint32));
  if (block->bytes < least_block) add_room(block, least_block - block->bytes, 1);
  SET_VARSIZE(header, block->bytes);
  return PointerGetDatum(header);
}

double rows_per_block(double row_bytes) {
  return Max(full_block / Max(row_bytes, 1.0), 1.0);
}

BlockView view_block(Datum block) {
  const char *data = DatumGetPointer(block);
  Assert(!VARATT_IS_EXTENDED(data) && data == reinterpret_cast<const char *>(MAXALIGN(data)));
  return block_at(data);
}

BlockView block_at(const char *data) {
  return {data, reinterpret_cast<const BlockHeader *>(data)->bytes};
}

void init_block_reader(BlockReader *reader, const BlockColumns &columns, TupleTableSlot *slot) {
  *reader = {};
  reader->slot = slot;
  reader->apart = apart_sets(columns);
}

void open_block(BlockReader *reader, BlockView block) {
  const auto *header = reinterpret_cast<const BlockHeader *>(block.data);
  reader->next = block.data + sizeof(BlockHeader);
  reader->end = block.data + header->rows_end;
  reader->packed = reader->end;
  reader->packed_rows = reader->apart.packs ? header->lengths : 0;
  const size_t packed_end = header->rows_end + size_t{reader->packed_rows} * reader->apart.row_bytes;
  const size_t lengths = TYPEALIGN(sizeof(uint32_t), packed_end);
  reader->length = reinterpret_cast<const uint32_t *>(block.data + lengths);
  reader->elements = block.data + MAXALIGN(lengths + header->lengths * sizeof(uint32_t));
}

void forget_block(BlockReader *reader) {
  ExecClearTuple(reader->slot);
  reader->next = reader->end = nullptr;
  reader->packed_rows = 0;
}

SetSlice packed_sets(const BlockReader &reader, uint32_t most) {
  SetSlice sets = {reader.apart.type, reader.elements, reader.length, Min(reader.packed_rows, most)};
  for (uint32_t i = 0; i < sets.rows; ++i) sets.token_count += sets.lengths[i];
  return sets;
}

void pass_packed_rows(BlockReader *reader, const SetSlice &rows) {
  reader->packed += size_t{rows.rows} * reader->apart.row_bytes;
  reader->packed_rows -= rows.rows;
  reader->length += rows.rows;
  reader->elements += width_of(reader->apart) * rows.token_count;
}

bool look_at_block_row(const BlockReader &reader, BlockRow *row) {
  if (reader.next == reader.end) return false;
  const auto *header = reinterpret_cast<const RowHeader *>(reader.next);
  *row = {reader.next, header->bytes, header->apart != 0,
          reinterpret_cast<const Datum *>(reader.next + sizeof(RowHeader))};
  return header->has_nulls == 0;
}

Datum block_value(BlockReader *reader, const BlockRow &row, AttrNumber column, bool by_value) {
  const Datum entry = row.entries[column - 1];
  if (by_value) return entry;
  return entry == 0 ? next_array(reader) : PointerGetDatum(row.data + entry);
}

void pass_block_row(BlockReader *reader, const BlockRow &row) {
  reader->next += row.bytes;
  if (row.apart) reader->elements += width_of(reader->apart) * *reader->length++;
}

bool read_block_row(BlockReader *reader) {
  TupleTableSlot *slot = reader->slot;
  ExecClearTuple(slot);
  if (reader->packed_rows > 0) {
    read_packed_row(reader);
    ExecStoreVirtualTuple(slot);
    return true;
  }
  if (reader->next == reader->end) return false;
  const int count = slot->tts_tupleDescriptor->natts;
  BlockRow row;
  if (look_at_block_row(*reader, &row)) {
    memset(slot->tts_isnull, 0, count);
  } else {
    memcpy(slot->tts_isnull, row.entries + count, count);
  }
  for (int i = 0; i < count; ++i) {
    if (slot->tts_isnull[i]) continue;
    slot->tts_values[i] = block_value(reader, row, static_cast<AttrNumber>(i + 1),
                                      TupleDescAttr(slot->tts_tupleDescriptor, i)->attbyval);
  }
  pass_block_row(reader, row);
  ExecStoreVirtualTuple(slot);
  return true;
}

}  // namespace simjoin::pg
