// Sets from text as SQL functions.
#include "pg/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/formatting.h"
#include "utils/memutils.h"
}

#include <algorithm>
#include <memory>

#include "core/shingles.hpp"
#include "pg/errors.hpp"
#include "pg/tokens.hpp"

namespace simjoin::pg {
namespace {

// Bytes that are hashed between two interrupt checks.
constexpr size_t step_bytes = 1 << 20;
// Bytes that are put into lower case at a time, at least.
constexpr size_t part_bytes = 1 << 16;

// Returns the length of the text's first part: it ends with a space, so that no letter's case depends on
// what follows, or with the text.
size_t part_length(const char *text, size_t length) {
  if (length <= part_bytes) return length;
  const void *space = std::memchr(text + part_bytes, ' ', length - part_bytes);
  return space == nullptr ? length : static_cast<size_t>(static_cast<const char *>(space) - text) + 1;
}

// Returns the text in lower case, by the collation's rules, and in UTF-8, so that equal texts have equal
// shingles in databases of different encodings. (SQL_ASCII says nothing about its bytes: they are kept.)
std::string_view normalized_text(const char *text, size_t length, Oid collation) {
  char *lower = str_tolower(text, length, collation);
  if (GetDatabaseEncoding() != PG_SQL_ASCII)
    lower = pg_server_to_any(lower, static_cast<int>(std::strlen(lower)), PG_UTF8);
  return lower;
}

// Makes the shingles of a text. What it takes is allocated in the context.
const Shingler *shingle(const text *input, Oid collation, ShingleUnit unit, int32 size,
                        MemoryContext context) {
  auto *shingler =
      own(context, [&] { return std::make_unique<Shingler>(unit, static_cast<uint32_t>(size)); });
  MemoryContext part_context = AllocSetContextCreate(context, "part of a text", ALLOCSET_SMALL_SIZES);
  const char *next = VARDATA_ANY(input), *end = next + VARSIZE_ANY_EXHDR(input);
  while (next < end) {
    MemoryContextReset(part_context);
    MemoryContextSwitchTo(part_context);
    const size_t length = part_length(next, static_cast<size_t>(end - next));
    shingler->feed(normalized_text(next, length, collation));
    do CHECK_FOR_INTERRUPTS();
    while (call_cpp([&] { return shingler->step(step_bytes); }));
    next += length;
  }
  call_cpp([&] { shingler->finish(); });
  MemoryContextSwitchTo(context);
  return shingler;
}

// Returns the ascending, distinct values of the hashes, cut to T, as an array in the result's context.
template <class T>
ArrayType *array_of(const std::vector<uint64_t> &hashes, Oid element_type, MemoryContext result_context) {
  InterruptCounter interrupts;
  T *values = allocate<T>(hashes.size());
  for (size_t i = 0; i < hashes.size(); ++i) {
    interrupts.add(1);
    values[i] = static_cast<T>(hashes[i]);
  }
  sort_interruptibly(
      values, hashes.size(), [](T a, T b) { return a < b; }, [](T value) { return comparison_cost(value); });
  const size_t count = static_cast<size_t>(std::unique(values, values + hashes.size()) - values);

  const size_t size = count == 0 ? sizeof(ArrayType) : ARR_OVERHEAD_NONULLS(1) + count * sizeof(T);
  if (!AllocSizeIsValid(size))
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("a set of %zu shingles is too large", count), errhint("Split the text.")));
  auto *array = static_cast<ArrayType *>(MemoryContextAllocZero(result_context, size));
  SET_VARSIZE(array, size);
  array->elemtype = element_type;
  if (count == 0) return array;
  array->ndim = 1;
  ARR_DIMS(array)[0] = static_cast<int>(count);
  ARR_LBOUND(array)[0] = 1;
  std::copy_n(values, count, reinterpret_cast<T *>(ARR_DATA_PTR(array)));
  return array;
}

template <class T>
Datum make_shingles(FunctionCallInfo fcinfo, ShingleUnit unit, Oid element_type, const char *function) {
  const int32 size = PG_GETARG_INT32(1);
  if (size < 1)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s: size is %d", function, size),
             errhint("A shingle has at least 1 %s.", unit == ShingleUnit::character ? "character" : "word")));
  MemoryContext result_context = CurrentMemoryContext;
  MemoryContext context = AllocSetContextCreate(result_context, "shingles", ALLOCSET_SMALL_SIZES);
  MemoryContextSwitchTo(context);
  const Shingler *shingler = shingle(PG_GETARG_TEXT_PP(0), PG_GET_COLLATION(), unit, size, context);
  ArrayType *result = array_of<T>(shingler->hashes(), element_type, result_context);
  MemoryContextSwitchTo(result_context);
  MemoryContextDelete(context);
  return PointerGetDatum(result);
}

}  // namespace
}  // namespace simjoin::pg

using namespace simjoin;
using namespace simjoin::pg;

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_shingles);
Datum simjoin_shingles(PG_FUNCTION_ARGS) {
  return make_shingles<int32_t>(fcinfo, ShingleUnit::character, INT4OID, "shingles");
}

PG_FUNCTION_INFO_V1(simjoin_shingles64);
Datum simjoin_shingles64(PG_FUNCTION_ARGS) {
  return make_shingles<int64_t>(fcinfo, ShingleUnit::character, INT8OID, "shingles64");
}

PG_FUNCTION_INFO_V1(simjoin_word_shingles);
Datum simjoin_word_shingles(PG_FUNCTION_ARGS) {
  return make_shingles<int32_t>(fcinfo, ShingleUnit::word, INT4OID, "word_shingles");
}

PG_FUNCTION_INFO_V1(simjoin_word_shingles64);
Datum simjoin_word_shingles64(PG_FUNCTION_ARGS) {
  return make_shingles<int64_t>(fcinfo, ShingleUnit::word, INT8OID, "word_shingles64");
}
}
