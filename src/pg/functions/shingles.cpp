// Sets from text as SQL functions.
#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
}

#include <charconv>
#include <string_view>

#include "pg/base/arguments.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/sets/arrays.hpp"
#include "pg/sets/text_sets.hpp"
#include "pg/sets/tokenizers.hpp"

namespace simjoin::pg {
namespace {

Datum shingles_of_call(FunctionCallInfo fcinfo, ShingleUnit unit, bool wide, const char *function) {
  const int32 size = PG_GETARG_INT32(1);
  check_count(size, INT_MAX, function, "size",
              unit == ShingleUnit::character ? "A shingle has at least 1 character."
                                             : "A shingle has at least 1 word.");
  const text *input = PG_GETARG_TEXT_PP(0);
  return make_shingles({VARDATA_ANY(input), VARSIZE_ANY_EXHDR(input)}, PG_GET_COLLATION(),
                       {true, unit, wide, size, {}});
}

// Returns the set of a text by a tokenizer whose sets have tokens of this type.
Datum token_set_of_call(FunctionCallInfo fcinfo, TokenType type, const char *function) {
  const SetMaker *maker = create_set_maker(TextDatumGetCString(PG_GETARG_DATUM(1)), TEXTOID,
                                           PG_GET_COLLATION(), CurrentMemoryContext);
  if (token_type_of(*maker) == type) return make_set(*maker, PG_GETARG_DATUM(0));
  raise_argument(function, "tokens", text_to_cstring(tokenizer_name(*maker)),
                 token_type_of(*maker) == TokenType::text
                     ? "word_set makes sets of words, as in word_set(body, 'english', 'words(multi)')."
                 : type == TokenType::int4 ? "token_set64 makes sets of hashes of 64 bits."
                                           : "token_set makes sets of hashes of 32 bits.");
}

// Returns the three bytes of a trigram as a number, -1 for other texts. pg_trgm writes the bytes as they are,
// or as 0x and six hexadecimal digits.
int32 number_of_trigram(std::string_view trigram) {
  uint32 number = 0;
  if (trigram.size() == 3) {
    for (const char byte : trigram) number = number << 8 | static_cast<uint8>(byte);
    return static_cast<int32>(number);
  }
  const char *end = trigram.data() + trigram.size();
  const bool hexadecimal = trigram.size() == 8 && trigram.substr(0, 2) == "0x" &&
                           std::from_chars(trigram.data() + 2, end, number, 16).ptr == end;
  return hexadecimal ? static_cast<int32>(number) : -1;
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_trigram_set);
Datum simjoin_trigram_set(PG_FUNCTION_ARGS) {
  const SetView trigrams = view_set(PG_GETARG_DATUM(0), "trigram_set");
  NewArray<int32> set = make_array<int32>(trigrams.count);
  const char *next = trigrams.count == 0 ? nullptr : ARR_DATA_PTR(trigrams.array);
  for (uint32_t i = 0; i < trigrams.count; ++i) {
    if (i % 65536 == 0) check_interrupts();
    const std::string_view trigram(VARDATA_ANY(next), VARSIZE_ANY_EXHDR(next));
    set.elements[i] = number_of_trigram(trigram);
    if (set.elements[i] < 0)
      ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                      errmsg("trigram_set: \"%s\" is no trigram", pnstrdup(trigram.data(), trigram.size())),
                      errhint("Pass the trigrams that show_trgm of the extension pg_trgm returns.")));
    next = reinterpret_cast<const char *>(att_align_nominal(next + VARSIZE_ANY(next), TYPALIGN_INT));
  }
  PG_RETURN_DATUM(set.datum());
}

PG_FUNCTION_INFO_V1(simjoin_shingles);
Datum simjoin_shingles(PG_FUNCTION_ARGS) {
  return shingles_of_call(fcinfo, ShingleUnit::character, false, "shingles");
}

PG_FUNCTION_INFO_V1(simjoin_shingles64);
Datum simjoin_shingles64(PG_FUNCTION_ARGS) {
  return shingles_of_call(fcinfo, ShingleUnit::character, true, "shingles64");
}

PG_FUNCTION_INFO_V1(simjoin_word_shingles);
Datum simjoin_word_shingles(PG_FUNCTION_ARGS) {
  return shingles_of_call(fcinfo, ShingleUnit::word, false, "word_shingles");
}

PG_FUNCTION_INFO_V1(simjoin_token_set);
Datum simjoin_token_set(PG_FUNCTION_ARGS) {
  return token_set_of_call(fcinfo, TokenType::int4, "token_set");
}

PG_FUNCTION_INFO_V1(simjoin_token_set64);
Datum simjoin_token_set64(PG_FUNCTION_ARGS) {
  return token_set_of_call(fcinfo, TokenType::int8, "token_set64");
}

PG_FUNCTION_INFO_V1(simjoin_word_set);
Datum simjoin_word_set(PG_FUNCTION_ARGS) {
  const char *tokenizer = TextDatumGetCString(PG_GETARG_DATUM(2));
  const SetMaker *maker = create_word_maker(tokenizer, PG_GETARG_OID(1), CurrentMemoryContext);
  if (maker == nullptr)
    raise_argument("word_set", "tokens", tokenizer,
                   "The second argument names the text search configuration, and the third one is words, or "
                   "words with options, as in words(multi).");
  PG_RETURN_DATUM(make_set(*maker, PG_GETARG_DATUM(0)));
}

PG_FUNCTION_INFO_V1(simjoin_word_shingles64);
Datum simjoin_word_shingles64(PG_FUNCTION_ARGS) {
  return shingles_of_call(fcinfo, ShingleUnit::word, true, "word_shingles64");
}
}

}  // namespace simjoin::pg
