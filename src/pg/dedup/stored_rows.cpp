#include "pg/dedup/stored_rows.hpp"

extern "C" {
#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/uuid.h"
}

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "pg/base/compat.hpp"
#include "pg/sets/arrays.hpp"

namespace simjoin::pg {
namespace {

static_assert(sizeof(Fingerprint) == UUID_LEN);  // a fingerprint is stored as a uuid

constexpr int64 most_rows = std::numeric_limits<uint32_t>::max();

// Gives the value of a column, which has to be of this type. Returns false where it is NULL.
bool value_of(const StoredRow &row, int column, Oid type, Datum *value) {
  const TupleDesc columns = row.slot->tts_tupleDescriptor;
  if (column > columns->natts || TupleDescAttr(columns, column - 1)->atttypid != type)
    raise_damaged(row.part);
  bool isnull;
  *value = slot_getattr(row.slot, column, &isnull);
  return !isnull;
}

// Returns the value of a column, which is of this type and not NULL.
Datum value_of(const StoredRow &row, int column, Oid type) {
  Datum value;
  if (!value_of(row, column, type, &value)) raise_damaged(row.part);
  return value;
}

int64 bigint_of(const StoredRow &row, int column) {
  return DatumGetInt64(value_of(row, column, INT8OID));
}

ItemPointerData place_of(const StoredRow &row, int column) {
  return *reinterpret_cast<ItemPointer>(DatumGetPointer(value_of(row, column, TIDOID)));
}

int64 count_of(const StoredRow &row, int column) {
  const int64 count = bigint_of(row, column);
  if (count < 0 || count > most_rows) raise_damaged(row.part);
  return count;
}

// The elements of an array of numbers, and what to free of it.
template <class T>
struct Numbers {
  std::span<const T> values;
  void *memory;  // NULL where the row owns the array
};

// Returns the elements of an array of this type, which has at most `most` elements and none that is NULL.
template <class T>
Numbers<T> numbers_of(const StoredRow &row, int column, Oid type, size_t most) {
  const Datum value = value_of(row, column, type);
  ArrayType *array = DatumGetArrayTypeP(value);
  if (ARR_NDIM(array) > 1 || ARR_ELEMTYPE(array) != element_type<T> || ARR_HASNULL(array))
    raise_damaged(row.part);
  const auto count = static_cast<size_t>(ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)));
  if (count > most) raise_damaged(row.part);
  return {{reinterpret_cast<const T *>(ARR_DATA_PTR(array)), count},
          reinterpret_cast<Pointer>(array) == DatumGetPointer(value) ? nullptr : array};
}

// Returns the codes of an integer[].
StoredCodes codes_of(const StoredRow &row, int column, size_t most) {
  const Numbers<TokenCode> codes = numbers_of<TokenCode>(row, column, INT4ARRAYOID, most);
  return {codes.values, codes.memory};
}

}  // namespace

int64 stored_id(const StoredRow &row) {
  return bigint_of(row, 1);
}

StoredPrint stored_print(const StoredRow &row) {
  StoredPrint result = {bigint_of(row, 1), {}};
  std::memcpy(&result.print, DatumGetUUIDP(value_of(row, 2, UUIDOID))->data, sizeof result.print);
  return result;
}

StoredKey stored_key(const StoredRow &row, Oid type) {
  return {bigint_of(row, 1), value_of(row, 2, type)};
}

StoredPair stored_pair(const StoredRow &row) {
  const StoredPair pair = {bigint_of(row, 1), bigint_of(row, 2), DatumGetFloat8(value_of(row, 3, FLOAT8OID))};
  if (pair.a >= pair.b || !std::isfinite(pair.similarity) || pair.similarity <= 0) raise_damaged(row.part);
  return pair;
}

StoredPrefix stored_prefix(const StoredRow &row) {
  const int64 size = DatumGetInt32(value_of(row, 2, INT4OID));
  if (size < 0) raise_damaged(row.part);
  return {bigint_of(row, 1), size, codes_of(row, 3, static_cast<size_t>(size))};
}

StoredWeights stored_weights(const StoredRow &row) {
  const double total = DatumGetFloat8(value_of(row, 2, FLOAT8OID));
  const StoredCodes entries = codes_of(row, 3, MaxAllocSize);
  const Numbers<double> masses = numbers_of<double>(row, 4, FLOAT8ARRAYOID, entries.codes.size());
  bool possible = std::isfinite(total) && total >= 0 && masses.values.size() == entries.codes.size();
  for (const double mass : masses.values) possible &= std::isfinite(mass) && mass > 0;
  if (!possible) raise_damaged(row.part);
  return {bigint_of(row, 1), total, entries, masses.values, masses.memory};
}

StoredOrder stored_order(const StoredRow &row) {
  return {count_of(row, 1), count_of(row, 2), codes_of(row, 3, most_frequent_tokens)};
}

StoredChange stored_change(const StoredRow &row) {
  Datum first, last;
  const bool has_first = value_of(row, 1, INT8OID, &first), has_last = value_of(row, 2, INT8OID, &last);
  if (!has_first || !has_last) return {true, 0, 0};
  return {false, DatumGetInt64(first), DatumGetInt64(last)};
}

bool is_stored_key(const StoredRow &row, Oid type, size_t *bytes) {
  Datum key;
  if (!value_of(row, 1, type, &key)) return false;
  const int length = TupleDescAttr(row.slot->tts_tupleDescriptor, 0)->attlen;
  *bytes += length == -1 ? toast_raw_datum_size(key) : static_cast<size_t>(std::max(length, 0));
  return true;
}

StoredEntity stored_entity(const StoredRow &row) {
  const StoredEntity result = {bigint_of(row, 1), bigint_of(row, 2)};
  if (result.entity <= 0) raise_damaged(row.part);
  return result;
}

StoredVerdict stored_verdict(const StoredRow &row) {
  StoredVerdict result = {place_of(row, 1), bigint_of(row, 2), bigint_of(row, 3),
                          DatumGetBool(value_of(row, 4, BOOLOID))};
  if (result.a > result.b) raise_damaged(row.part);
  return result;
}

StoredGroup stored_group(const StoredRow &row, Oid type, bool has_entity) {
  StoredGroup group = {};
  group.place = place_of(row, 1);
  group.number = bigint_of(row, 2);
  group.id = value_of(row, 3, type);
  group.group_id = value_of(row, 4, type);
  group.is_representative = DatumGetBool(value_of(row, 5, BOOLOID));
  Datum similarity;
  group.has_similarity = value_of(row, 6, FLOAT8OID, &similarity);
  if (group.has_similarity) group.similarity = DatumGetFloat8(similarity);
  if (has_entity) group.entity = bigint_of(row, 7);
  return group;
}

void free_codes(const StoredCodes &codes) {
  if (codes.memory != nullptr) pfree(codes.memory);
}

void raise_damaged(const char *part) {
  ereport(ERROR,
          (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
           errmsg("%s has a row that no refresh of a dedup view has stored", part),
           errhint("The parts of a dedup view must not be changed. Drop the view and make it again.")));
  pg_unreachable();
}

}  // namespace simjoin::pg
