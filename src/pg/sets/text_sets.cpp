#include "pg/sets/text_sets.hpp"

extern "C" {
#include "mb/pg_wchar.h"
#include "utils/formatting.h"
#include "utils/memutils.h"
}

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "core/text/shingles.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/computation/steps.hpp"
#include "pg/sets/arrays.hpp"
#include "pg/sets/letters.hpp"

namespace simjoin::pg {
namespace {

// Bytes that are hashed between two interrupt checks.
constexpr size_t step_bytes = 1 << 20;
// The least number of bytes that are put into lower case at a time.
constexpr size_t part_bytes = 1 << 16;
// The shingles of texts of up to this many bytes are made in memory that the session keeps.
constexpr size_t short_text = 1 << 14;

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

}  // namespace

std::string_view in_utf8(char *text, size_t length) {
  if (GetDatabaseEncoding() == PG_SQL_ASCII) return {text, length};
  char *converted = pg_server_to_any(text, static_cast<int>(length), PG_UTF8);
  return converted == text ? std::string_view(text, length) : converted;
}

std::string_view normalized_text(const char *text, size_t length, Oid collation) {
  char *lower = str_tolower(text, length, collation);
  const std::string_view converted = in_utf8(lower, std::strlen(lower));
  if (converted.data() != lower) pfree(lower);
  return converted;
}

namespace {

// Hashes what the shingler is fed with.
template <class T>
void hash_part(Shingler<T> *shingler, std::string_view part, const Letters *letters) {
  shingler->feed(part, letters);
  run_steps([&] { return !shingler->step(step_bytes); });
}

// Hashes the shingles of a text. What it takes beside is allocated in the current memory context.
template <class T>
void shingle(Shingler<T> *shingler, std::string_view text, Oid collation, ShingleUnit unit) {
  if (unit == ShingleUnit::gram) {
    const std::string_view all = in_utf8(const_cast<char *>(text.data()), text.size());
    hash_part(shingler, all, nullptr);
    if (all.data() != text.data()) pfree(const_cast<char *>(all.data()));
    return;
  }
  const Letters *letters = text.empty() ? nullptr : letters_of(text, collation);
  while (!text.empty()) {
    const size_t length = letters != nullptr ? text.size() : part_length(text.data(), text.size());
    std::string_view part = text.substr(0, length);
    if (letters == nullptr) part = normalized_text(part.data(), length, collation);
    hash_part(shingler, part, letters);
    if (letters == nullptr) pfree(const_cast<char *>(part.data()));
    text.remove_prefix(length);
  }
}

// Returns the set as an array in the memory context.
template <class T>
Datum array_of(std::span<const T> set, MemoryContext context) {
  if (!AllocSizeIsValid(array_bytes<T>(set.size())))
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("a set of %zu shingles is too large", set.size()), errhint("Split the text.")));
  const auto array = make_array<T>(set.size(), context);
  constexpr size_t step = step_bytes / sizeof(T);
  for (size_t i = 0; i < set.size(); i += step) {
    check_interrupts();
    std::copy_n(set.data() + i, std::min(step, set.size() - i), array.elements + i);
  }
  return array.datum();
}

template <class T>
Datum shingles_of(Shingler<T> *shingler, std::string_view text, Oid collation, const Tokenizer &tokenizer,
                  MemoryContext result_context) {
  call_cpp([&] { shingler->begin(tokenizer.unit, static_cast<uint32_t>(tokenizer.size), tokenizer.multi); });
  shingle(shingler, text, collation, tokenizer.unit);
  const std::span<const T> set = call_cpp([&] {
    shingler->finish();
    return shingler->set();
  });
  return array_of(set, result_context);
}

template <class T>
Datum make_shingles_of(std::string_view text, Oid collation, const Tokenizer &tokenizer) {
  static Shingler<T> kept;  // with the memory of short texts
  MemoryContext result_context = CurrentMemoryContext;
  if (text.size() <= short_text) return shingles_of(&kept, text, collation, tokenizer, result_context);
  MemoryContext context = AllocSetContextCreate(result_context, "shingles", ALLOCSET_SMALL_SIZES);
  MemoryContextSwitchTo(context);
  auto *shingler = own(context, [] { return std::make_unique<Shingler<T>>(); });
  const Datum result = shingles_of(shingler, text, collation, tokenizer, result_context);
  MemoryContextSwitchTo(result_context);
  MemoryContextDelete(context);
  return result;
}

}  // namespace

Datum make_shingles(std::string_view text, Oid collation, const Tokenizer &tokenizer) {
  return tokenizer.wide ? make_shingles_of<int64_t>(text, collation, tokenizer)
                        : make_shingles_of<int32_t>(text, collation, tokenizer);
}

}  // namespace simjoin::pg
