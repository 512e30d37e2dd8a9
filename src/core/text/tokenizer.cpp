#include "core/text/tokenizer.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

namespace simjoin {
namespace {

// A tokenizer without its arguments.
struct TokenizerName {
  std::string_view name;
  Tokenizer tokenizer;
  int32_t largest;  // size; 0 if the tokenizer takes none
};

constexpr int32_t any_size = std::numeric_limits<int32_t>::max();
constexpr TokenizerName tokenizer_names[] = {
    {"shingles", {true, ShingleUnit::character, false, 5, {}}, any_size},
    {"shingles64", {true, ShingleUnit::character, true, 5, {}}, any_size},
    {"word_shingles", {true, ShingleUnit::word, false, 3, {}}, any_size},
    {"word_shingles64", {true, ShingleUnit::word, true, 3, {}}, any_size},
    {"alnum", {true, ShingleUnit::run, false, 1, {}}, 0},
    {"alnum64", {true, ShingleUnit::run, true, 1, {}}, 0},
    {"qgrams", {true, ShingleUnit::gram, false, 3, {}}, longest_gram},
    {"qgrams64", {true, ShingleUnit::gram, true, 3, {}}, longest_gram},
    {"words", {false, ShingleUnit::word, false, 1, {}}, 0}};

struct TokenizerOption {
  std::string_view name;
  bool Tokenizer::*chosen;
};

// In the order of canonical names.
constexpr TokenizerOption tokenizer_options[] = {{"multi", &Tokenizer::multi},
                                                 {"nfkc", &Tokenizer::nfkc},
                                                 {"unaccent", &Tokenizer::unaccent},
                                                 {"casefold", &Tokenizer::casefold}};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view spaces = " \t\n\r\f\v";
  const size_t begin = text.find_first_not_of(spaces);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(spaces) + 1 - begin);
}

// Gives the size of a piece. Returns false where the text is no whole number from 1 to the largest size.
bool parse_size(std::string_view text, int32_t largest, int32_t *size) {
  const char *end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *size);
  return error == std::errc() && rest == end && *size >= 1 && *size <= largest;
}

// Returns the bytes before the first comma outside quotes.
std::string_view first_argument(std::string_view arguments) {
  bool quoted = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == '"') quoted = !quoted;
    if (arguments[i] == ',' && !quoted) return arguments.substr(0, i);
  }
  return arguments;
}

// Takes an argument of a tokenizer. Returns false where it is wrong.
bool take_argument(const TokenizerName &name, std::string_view argument, bool first, Tokenizer *tokenizer) {
  for (const TokenizerOption &option : tokenizer_options) {
    if (argument != option.name) continue;
    return !std::exchange(tokenizer->*option.chosen, true);
  }
  if (!first) return false;
  if (name.largest > 0) return parse_size(argument, name.largest, &tokenizer->size);
  if (tokenizer->shingled) return false;
  tokenizer->configuration = argument;
  return true;
}

// Takes the arguments of a tokenizer. Returns false where one is wrong, which is empty if it is missing.
bool take_arguments(const TokenizerName &name, std::string_view arguments, Tokenizer *tokenizer,
                    std::string_view *wrong) {
  for (bool first = true;; first = false) {
    const std::string_view part = first_argument(arguments), argument = trimmed(part);
    if (argument.empty() || !take_argument(name, argument, first, tokenizer)) {
      *wrong = argument;
      return false;
    }
    if (part.size() == arguments.size()) return true;
    arguments.remove_prefix(part.size() + 1);
  }
}

// Returns the entry that a tokenizer with any arguments was made of.
const TokenizerName &name_of(const Tokenizer &tokenizer) {
  const TokenizerName *name = tokenizer_names;
  while (name->tokenizer.shingled != tokenizer.shingled || name->tokenizer.unit != tokenizer.unit ||
         name->tokenizer.wide != tokenizer.wide)
    ++name;
  return *name;
}

}  // namespace

std::optional<Tokenizer> parse_tokenizer(std::string_view text, std::string_view *wrong) {
  *wrong = {};
  text = trimmed(text);
  const size_t open = text.find('(');
  const bool called = open != text.npos;
  if (called && text.back() != ')') return {};
  const std::string_view plain = called ? trimmed(text.substr(0, open)) : text;
  for (const TokenizerName &name : tokenizer_names) {
    if (plain != name.name) continue;
    Tokenizer tokenizer = name.tokenizer;
    if (!called || take_arguments(name, text.substr(open + 1, text.size() - open - 2), &tokenizer, wrong))
      return tokenizer;
  }
  return {};
}

size_t write_canonical_name(const Tokenizer &tokenizer, char *name) {
  const TokenizerName &plain = name_of(tokenizer);
  char *end = std::copy(plain.name.begin(), plain.name.end(), name);
  char *const arguments = end;
  const auto add_argument = [&](std::string_view argument) {
    const std::string_view before = end == arguments ? "(" : ", ";
    end = std::copy(before.begin(), before.end(), end);
    end = std::copy(argument.begin(), argument.end(), end);
  };
  char size[16];
  if (plain.largest > 0) {
    const auto size_end = std::to_chars(size, size + sizeof size, tokenizer.size).ptr;
    add_argument({size, static_cast<size_t>(size_end - size)});
  }
  if (!tokenizer.configuration.empty()) add_argument(tokenizer.configuration);
  for (const TokenizerOption &option : tokenizer_options)
    if (tokenizer.*option.chosen) add_argument(option.name);
  if (end != arguments) *end++ = ')';
  return static_cast<size_t>(end - name);
}

}  // namespace simjoin
