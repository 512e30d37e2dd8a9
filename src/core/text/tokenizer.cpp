#include "core/text/tokenizer.hpp"

#include <charconv>
#include <iterator>
#include <system_error>

namespace simjoin {
namespace {

constexpr Tokenizer known_shinglers[] = {{true, ShingleUnit::character, false, 5, {}},
                                         {true, ShingleUnit::character, true, 5, {}},
                                         {true, ShingleUnit::word, false, 3, {}},
                                         {true, ShingleUnit::word, true, 3, {}}};
constexpr std::string_view shingler_names[] = {"shingles", "shingles64", "word_shingles", "word_shingles64"};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view spaces = " \t\n\r\f\v";
  const size_t begin = text.find_first_not_of(spaces);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(spaces) + 1 - begin);
}

// Gives the size of a shingle. Returns false where the text is no whole number from 1 on.
bool parse_size(std::string_view text, int32_t *size) {
  const char *end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *size);
  return error == std::errc() && rest == end && *size >= 1;
}

}  // namespace

std::optional<Tokenizer> parse_tokenizer(std::string_view text) {
  text = trimmed(text);
  std::string_view name = text, argument;
  const size_t open = text.find('(');
  const bool called = open != text.npos;
  if (called) {
    if (text.back() != ')') return {};
    name = trimmed(text.substr(0, open));
    argument = trimmed(text.substr(open + 1, text.size() - open - 2));
    if (argument.empty()) return {};
  }
  if (name == "words") return Tokenizer{false, ShingleUnit::word, false, 1, argument};
  for (size_t i = 0; i < std::size(shingler_names); ++i) {
    if (name != shingler_names[i]) continue;
    Tokenizer tokenizer = known_shinglers[i];
    if (called && !parse_size(argument, &tokenizer.size)) return {};
    return tokenizer;
  }
  return {};
}

}  // namespace simjoin
