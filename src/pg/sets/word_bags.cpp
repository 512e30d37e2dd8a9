#include "pg/sets/word_bags.hpp"

extern "C" {
#include "utils/builtins.h"
#include "utils/memutils.h"
}

#include <algorithm>
#include <cstring>

#include "pg/base/interruptible.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {
namespace {

struct Words {
  std::string_view *words;  // ascending
  size_t count;
};

// Returns the words in the current memory context.
Words words_of(Oid configuration, std::string_view text) {
  const ParsedText parsed = parsed_words(configuration, text);
  const auto count = static_cast<size_t>(parsed.curwords);
  const Words words = {allocate<std::string_view>(count), count};
  InterruptCounter interrupts;
  for (size_t i = 0; i < count; ++i) {
    words.words[i] = {parsed.words[i].word, parsed.words[i].len};
    interrupts.add(1);
  }
  sort_interruptibly(words.words, count, std::less<>(),
                     [](std::string_view word) { return comparison_cost(word); });
  return words;
}

}  // namespace

ParsedText parsed_words(Oid configuration, std::string_view text) {
  ParsedText parsed = {};
  parsed.lenwords =
      static_cast<int32>(std::clamp(text.size() / 6, size_t{2}, size_t{MaxAllocSize / sizeof(ParsedWord)}));
  parsed.words = static_cast<ParsedWord *>(palloc(static_cast<Size>(parsed.lenwords) * sizeof(ParsedWord)));
  parsetext(configuration, &parsed, const_cast<char *>(text.data()), static_cast<int>(text.size()));
  return parsed;
}

Datum occurrence_of(std::string_view word, size_t n) {
  if (n == 1 && word.find('#') == word.npos)
    return PointerGetDatum(cstring_to_text_with_len(word.data(), static_cast<int>(word.size())));
  char number[24];
  const int digits = snprintf(number, sizeof number, "#%zu", n);
  const Size size = VARHDRSZ + word.size() + static_cast<Size>(digits);
  auto *element = static_cast<text *>(palloc(size));
  SET_VARSIZE(element, size);
  std::memcpy(VARDATA(element), word.data(), word.size());
  std::memcpy(VARDATA(element) + word.size(), number, static_cast<size_t>(digits));
  return PointerGetDatum(element);
}

Datum make_word_bag(Oid configuration, std::string_view text) {
  MemoryContext result_context = CurrentMemoryContext;
  MemoryContext context = AllocSetContextCreate(result_context, "words", ALLOCSET_DEFAULT_SIZES);
  MemoryContextSwitchTo(context);
  const Words words = words_of(configuration, text);
  auto *elements = allocate<Datum>(words.count);
  InterruptCounter interrupts;
  for (size_t i = 0, n = 0; i < words.count; ++i) {
    interrupts.add(comparison_cost(words.words[i]));
    n = i > 0 && words.words[i] == words.words[i - 1] ? n + 1 : 1;
    elements[i] = occurrence_of(words.words[i], n);
  }
  MemoryContextSwitchTo(result_context);
  ArrayType *array = construct_token_array(elements, words.count, TokenType::text);
  MemoryContextDelete(context);
  return PointerGetDatum(array);
}

}  // namespace simjoin::pg
