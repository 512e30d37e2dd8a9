// similarity_explain(): the tokens that two texts or sets share, and those that one of them has alone.
#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
}

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/text/text_pieces.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/named_arguments.hpp"
#include "pg/query/result_rows.hpp"
#include "pg/rows/row_context.hpp"
#include "pg/sets/arrays.hpp"
#include "pg/sets/prepared_texts.hpp"
#include "pg/sets/set_codec.hpp"
#include "pg/sets/text_sets.hpp"
#include "pg/sets/tokenizers.hpp"
#include "pg/sets/tokens.hpp"
#include "pg/sets/weights.hpp"
#include "pg/sets/word_bags.hpp"

namespace simjoin::pg {
namespace {

constexpr const char *explain_function = "similarity_explain";
// Each character and token takes some hundred bytes while it is explained.
constexpr size_t most_explained = size_t{1} << 20;

// A token of one or both sides.
struct ExplainedToken {
  std::string text;  // in the encoding of the database
  int64 token;       // in the set, where it is an integer
  std::vector<int32> places[2];
  double weights[2] = {0, 0};

  int side() const { return places[1].empty() ? 1 : places[0].empty() ? 2 : 0; }
};

// What two sides have. Tokens are told apart by an integer, or else by their text.
struct Explanation {
  bool integers = false;
  bool weighted = false;
  bool placed[2] = {true, true};       // places of the side are known
  std::vector<ExplainedToken> tokens;  // as they come: those of the left side first
  std::unordered_map<int64, size_t> by_integer;
  std::unordered_map<std::string, size_t> by_text;

  // Adds a token at a place of a side. Throws std::bad_alloc.
  void add(int side, std::string_view text, int64 token, int32 place, double weight = 0) {
    const size_t number = integers ? by_integer.try_emplace(token, tokens.size()).first->second
                                   : by_text.try_emplace(std::string(text), tokens.size()).first->second;
    if (number == tokens.size()) tokens.push_back({std::string(text), token, {}, {0, 0}});
    tokens[number].places[side].push_back(place);
    tokens[number].weights[side] += weight;
  }
  // Puts tokens of both sides first, then those of the left one, each in the order of their places.
  void order() {
    std::stable_sort(tokens.begin(), tokens.end(),
                     [](const ExplainedToken &a, const ExplainedToken &b) { return a.side() < b.side(); });
  }
};

void check_size(size_t size, const char *what) {
  if (size <= most_explained) return;
  ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                  errmsg("%s: %zu %s are too many to explain", explain_function, size, what),
                  errhint("Give it parts of up to %zu.", most_explained)));
}

// A text in UTF-8, prepared and in lower case.
struct LowerText {
  std::string_view text;
  // For each character, the one that it comes from, from 1 on; nullptr where nobody can tell.
  const int32 *places;
};

size_t characters_in(std::string_view utf8) {
  size_t count = 0;
  for (const char byte : utf8) count += (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  return count;
}

// Returns the text as shingles are made of it, but for white space.
std::string_view lower_text(std::string_view text, const Tokenizer &tokenizer, Oid collation) {
  const Preparation preparation = tokenizer.preparation();
  if (preparation.any()) text = prepare_text(text, preparation);
  return tokenizer.unit == ShingleUnit::gram ? in_utf8(const_cast<char *>(text.data()), text.size())
                                             : normalized_text(text.data(), text.size(), collation);
}

// Returns that text with the places that its characters come from. Characters that change beside others, as a
// letter and its mark become one, have no places.
LowerText lower_with_places(std::string_view text, const Tokenizer &tokenizer, Oid collation) {
  const std::string_view whole = lower_text(text, tokenizer, collation);
  const size_t count = characters_in(whole);
  auto *places = allocate<int32>(count);
  MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "character", ALLOCSET_SMALL_SIZES);
  size_t bytes = 0, placed = 0;
  int32 place = 0;
  bool same = true;
  for (size_t at = 0; at < text.size() && same;) {
    check_interrupts();
    const auto length = static_cast<size_t>(pg_mblen(text.data() + at));
    in_row_context(context, [&] {
      const std::string_view one = lower_text(text.substr(at, length), tokenizer, collation);
      ++place;
      same = bytes <= whole.size() && one == whole.substr(bytes, one.size());
      for (size_t i = characters_in(one); same && i > 0; --i) places[placed++] = place;
      bytes += one.size();
    });
    at += length;
  }
  if (same && bytes == whole.size()) return {whole, places};
  if (tokenizer.preparation().any() ||
      count != static_cast<size_t>(pg_mbstrlen_with_len(text.data(), static_cast<int>(text.size()))))
    return {whole, nullptr};
  // Lower case that depends on the characters beside, one for each.
  for (size_t i = 0; i < count; ++i) places[i] = static_cast<int32>(i + 1);
  return {whole, places};
}

// Returns a part of a text in UTF-8 in the encoding of the database.
std::string_view in_server_encoding(std::string_view utf8) {
  if (GetDatabaseEncoding() == PG_UTF8 || GetDatabaseEncoding() == PG_SQL_ASCII) return utf8;
  char *copy = pnstrdup(utf8.data(), utf8.size());
  char *converted = pg_any_to_server(copy, static_cast<int>(utf8.size()), PG_UTF8);
  return {converted, std::strlen(converted)};
}

// What the C++ side of a text makes: it lives as long as the call.
struct Pieces {
  NormalText normal;
  std::vector<TextPiece> pieces;
};

void add_pieces(Explanation *explanation, int side, std::string_view text, const Tokenizer &tokenizer,
                Oid collation) {
  const LowerText lower = lower_with_places(text, tokenizer, collation);
  const auto size = static_cast<uint32_t>(tokenizer.size);
  auto *made = own(CurrentMemoryContext, [] { return std::make_unique<Pieces>(); });
  call_cpp([&] {
    made->normal = normal_text(lower.text, tokenizer.unit, size);
    made->pieces = pieces_of(made->normal, tokenizer);
  });
  const auto characters = static_cast<int64>(characters_in(lower.text));
  for (const TextPiece &piece : made->pieces) {
    check_interrupts();
    // Beside the text, places go on.
    const int64 at = made->normal.places[piece.first_character];
    const bool inside = lower.places != nullptr && at >= 1 && at <= characters;
    const int64 place = inside ? lower.places[at - 1] : at;
    const std::string_view bytes = in_server_encoding(piece.bytes);
    call_cpp([&] { explanation->add(side, bytes, piece.token, static_cast<int32>(place)); });
  }
  explanation->placed[side] = lower.places != nullptr;
}

using WordCounts = std::unordered_map<std::string, size_t>;

void add_words(Explanation *explanation, int side, std::string_view input, const Tokenizer &tokenizer,
               Oid configuration) {
  const Preparation preparation = tokenizer.preparation();
  if (preparation.any()) input = prepare_text(input, preparation);
  const ParsedText parsed = parsed_words(configuration, input);
  auto *counts = own(CurrentMemoryContext, [] { return std::make_unique<WordCounts>(); });
  for (int i = 0; i < parsed.curwords; ++i) {
    check_interrupts();
    const ParsedWord &word = parsed.words[i];
    std::string_view token(word.word, word.len);
    if (tokenizer.multi) {
      const size_t n = call_cpp([&] { return ++(*counts)[std::string(token)]; });
      const auto *element = reinterpret_cast<const text *>(DatumGetPointer(occurrence_of(token, n)));
      token = {VARDATA(element), VARSIZE(element) - VARHDRSZ};
    }
    call_cpp([&] { explanation->add(side, token, 0, word.pos.pos); });
  }
}

void add_array(Explanation *explanation, int side, const SetView &set, const float *weights) {
  TokenCursor tokens(set);
  for (uint32_t i = 0; i < set.count; ++i) {
    check_interrupts();
    const double weight = weights == nullptr ? 0 : static_cast<double>(weights[i]);
    const auto place = static_cast<int32>(i + 1);
    call_cpp([&] {
      tokens.next([&](auto token) {
        if constexpr (std::is_integral_v<decltype(token)>)
          explanation->add(side, std::to_string(token), token, place, weight);
        else
          explanation->add(side, token, 0, place, weight);
        return 0;
      });
    });
  }
}

Datum places_datum(const std::vector<int32> &places) {
  const auto array = make_array<int32>(places.size());
  std::copy(places.begin(), places.end(), array.elements);
  return array.datum();
}

void return_explanation(Explanation *explanation, ResultRows *result) {
  static constexpr const char *sides[] = {"both", "left", "right"};
  call_cpp([&] { explanation->order(); });
  MemoryContext row = AllocSetContextCreate(CurrentMemoryContext, "row", ALLOCSET_DEFAULT_SIZES);
  return_rows(explanation->tokens.size(), [&](size_t i) {
    const ExplainedToken &token = explanation->tokens[i];
    in_row_context(row, [&] {
      Datum values[7] = {};
      bool nulls[7] = {};
      values[0] =
          PointerGetDatum(cstring_to_text_with_len(token.text.data(), static_cast<int>(token.text.size())));
      values[1] = Int64GetDatum(token.token);
      nulls[1] = !explanation->integers;
      values[2] = CStringGetTextDatum(sides[token.side()]);
      for (int side = 0; side < 2; ++side) {
        nulls[3 + side] = token.places[side].empty() || !explanation->placed[side];
        if (!nulls[3 + side]) values[3 + side] = places_datum(token.places[side]);
        nulls[5 + side] = token.places[side].empty() || !explanation->weighted;
        values[5 + side] = Float8GetDatum(token.weights[side]);
      }
      result->add(values, nulls);
    });
  });
}

void explain_texts(FunctionCallInfo fcinfo, const NamedArguments &arguments, Explanation *explanation) {
  const SetMaker *maker =
      create_set_maker(arguments.string("tokens"), TEXTOID, PG_GET_COLLATION(), CurrentMemoryContext);
  Oid configuration;
  const Tokenizer &tokenizer = tokenizer_of(*maker, &configuration);
  explanation->integers = tokenizer.shingled;
  for (int side = 0; side < 2; ++side) {
    const text *input = PG_GETARG_TEXT_PP(side);
    const std::string_view bytes(VARDATA_ANY(input), VARSIZE_ANY_EXHDR(input));
    check_size(bytes.size(), "bytes");
    if (tokenizer.shingled)
      add_pieces(explanation, side, bytes, tokenizer, PG_GET_COLLATION());
    else
      add_words(explanation, side, bytes, tokenizer, configuration);
  }
}

void explain_arrays(FunctionCallInfo fcinfo, bool weighted, Explanation *explanation) {
  explanation->weighted = weighted;
  for (int side = 0; side < 2; ++side) {
    const int argument = weighted ? 2 * side : side;
    const SetView set = view_set(PG_GETARG_DATUM(argument), explain_function);
    check_size(set.count, "tokens");
    explanation->integers = set.type != TokenType::text;
    add_array(explanation, side, set,
              weighted ? view_weights(PG_GETARG_ARRAYTYPE_P(argument + 1), set, explain_function) : nullptr);
  }
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_similarity_explain);
Datum simjoin_similarity_explain(PG_FUNCTION_ARGS) {
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, explain_function, ALLOCSET_DEFAULT_SIZES);
  MemoryContext old = MemoryContextSwitchTo(context);
  auto *explanation = own(context, [] { return std::make_unique<Explanation>(); });
  if (arguments.has("tokens"))
    explain_texts(fcinfo, arguments, explanation);
  else
    explain_arrays(fcinfo, arguments.has("a_weights"), explanation);
  return_explanation(explanation, &result);
  MemoryContextSwitchTo(old);
  MemoryContextDelete(context);
  return 0;
}
}

}  // namespace simjoin::pg
