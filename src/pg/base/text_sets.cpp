#include "pg/base/text_sets.hpp"

extern "C" {
#include "mb/pg_wchar.h"
#include "utils/formatting.h"
#include "utils/memutils.h"
}

#include <algorithm>
#include <cstring>
#include <memory>

#include "core/text/shingles.hpp"
#include "pg/base/arrays.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/base/steps.hpp"

namespace simjoin::pg {
namespace {

// Bytes that are hashed between two interrupt checks.
constexpr size_t step_bytes = 1 << 20;
// The least number of bytes that are put into lower case at a time.
constexpr size_t part_bytes = 1 << 16;

bool is_ascii_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Returns whether the characters before and after `at` are both CJK ideographs or both Hangul syllables in
// UTF-8; three bytes on either side may be read.
bool is_between_cjk(const char *at) {
  const auto lead = [](const char *text) { return static_cast<unsigned char>(*text); };
  const auto is_cjk = [](unsigned char c) { return c >= 0xE5 && c <= 0xE9; };     // U+5000 to U+9FFF
  const auto is_hangul = [](unsigned char c) { return c == 0xEB || c == 0xEC; };  // U+B000 to U+CFFF
  const unsigned char before = lead(at - 3), after = lead(at);
  return (is_cjk(before) && is_cjk(after)) || (is_hangul(before) && is_hangul(after));
}

// Returns the length of the text's first part. A part ends after a space, between two characters that have
// their case by themselves, or with the text: there, no letter's case depends on the other side in any
// language.
size_t part_length(const char *text, size_t length) {
  const bool is_utf8 = GetDatabaseEncoding() == PG_UTF8;
  for (size_t end = part_bytes; end + 3 < length; ++end) {
    if (text[end - 1] == ' ' || (is_ascii_alphanumeric(text[end - 1]) && is_ascii_alphanumeric(text[end])) ||
        (is_utf8 && is_between_cjk(text + end)))
      return end;
  }
  return length;
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
Shingler *shingle(const text *input, Oid collation, ShingleUnit unit, int32 size, MemoryContext context) {
  auto *shingler =
      own(context, [&] { return std::make_unique<Shingler>(unit, static_cast<uint32_t>(size)); });
  MemoryContext part_context = AllocSetContextCreate(context, "part of a text", ALLOCSET_SMALL_SIZES);
  const char *next = VARDATA_ANY(input), *end = next + VARSIZE_ANY_EXHDR(input);
  while (next < end) {
    MemoryContextReset(part_context);
    MemoryContextSwitchTo(part_context);
    const size_t length = part_length(next, static_cast<size_t>(end - next));
    shingler->feed(normalized_text(next, length, collation));
    run_steps([&] { return !shingler->step(step_bytes); });
    next += length;
  }
  call_cpp([&] { shingler->finish(); });
  MemoryContextSwitchTo(context);
  return shingler;
}

// Cuts the hashes to T, in their own place, and makes them ascending and distinct. Returns how many are left.
template <class T>
size_t distinct_values(Buffer<uint64_t> *hashes, T *values) {
  InterruptCounter interrupts;
  for (size_t i = 0; i < hashes->size(); ++i) {
    interrupts.add(1);
    const T value = static_cast<T>((*hashes)[i]);
    std::memcpy(values + i, &value, sizeof value);
  }
  sort_interruptibly(
      values, hashes->size(), [](T a, T b) { return a < b; }, [](T value) { return comparison_cost(value); });
  size_t count = 0;
  for (size_t i = 0; i < hashes->size(); ++i) {
    interrupts.add(1);
    if (count == 0 || values[count - 1] != values[i]) values[count++] = values[i];
  }
  return count;
}

// Returns the hashes as a set, an array in the result's context. The hashes are destroyed.
template <class T>
Datum array_of(Buffer<uint64_t> *hashes, MemoryContext result_context) {
  T *values = reinterpret_cast<T *>(hashes->data());
  const size_t count = distinct_values(hashes, values);
  if (!AllocSizeIsValid(array_bytes<T>(count)))
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("a set of %zu shingles is too large", count), errhint("Split the text.")));
  const auto array = make_array<T>(count, result_context);
  constexpr size_t step = step_bytes / sizeof(T);
  for (size_t i = 0; i < count; i += step) {
    CHECK_FOR_INTERRUPTS();
    std::copy_n(values + i, std::min(step, count - i), array.elements + i);
  }
  return array.datum();
}

}  // namespace

Datum make_shingles(const text *input, Oid collation, ShingleUnit unit, bool wide, int32 size) {
  MemoryContext result_context = CurrentMemoryContext;
  MemoryContext context = AllocSetContextCreate(result_context, "shingles", ALLOCSET_SMALL_SIZES);
  MemoryContextSwitchTo(context);
  Buffer<uint64_t> *hashes = &shingle(input, collation, unit, size, context)->hashes();
  const Datum result =
      wide ? array_of<int64_t>(hashes, result_context) : array_of<int32_t>(hashes, result_context);
  MemoryContextSwitchTo(result_context);
  MemoryContextDelete(context);
  return result;
}

}  // namespace simjoin::pg
