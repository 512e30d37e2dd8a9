#include "core/text/text_pieces.hpp"

#include <algorithm>
#include <unordered_map>

#include "core/base/interruption.hpp"
#include "core/base/token_hash.hpp"
#include "core/text/fold_kernels.hpp"
#include "core/text/letters_and_digits.hpp"

namespace simjoin {
namespace {

// Calls visit(character) for each character of the text.
template <class Visit>
void for_each_character(std::string_view text, Visit &&visit) {
  const char *const end = text.data() + text.size();
  size_t number = 0;
  for (const char *at = text.data(); at < end;) {
    check_interruption_at(number++);
    const size_t length = character_length(at, end);
    visit(std::string_view(at, length));
    at += length;
  }
}

// Adds what surrounds the text of a gram, before the place `place` or from it on.
void add_padding(NormalText &text, char character, uint32_t count, int64_t place) {
  for (uint32_t i = 0; i < count; ++i) {
    text.bytes.push_back(character);
    text.places.push_back(place + i);
  }
}

// Where the units of a text begin, and where they end: characters, or words between single spaces.
struct Units {
  std::vector<size_t> begins, ends, characters;  // the last: the number of the first character of each
};

Units units_of(std::string_view text, bool by_characters) {
  Units units;
  size_t at = 0, number = 0;
  bool after_space = true;
  for_each_character(text, [&](std::string_view character) {
    const bool space = !by_characters && character == " ";
    if (!space && (by_characters || after_space)) {
      units.begins.push_back(at);
      units.characters.push_back(number);
      units.ends.push_back(at);
    }
    at += character.size();
    if (!space) units.ends.back() = at;
    after_space = space;
    ++number;
  });
  return units;
}

int64_t in_set(uint64_t hash, bool wide) {
  return wide ? static_cast<int64_t>(hash) : static_cast<int32_t>(static_cast<uint32_t>(hash));
}

// Makes the n-th of equal tokens what stands for it.
void tell_occurrences_apart(std::vector<TextPiece> &pieces, bool wide) {
  std::unordered_map<int64_t, uint64_t> earlier;
  for (size_t i = 0; i < pieces.size(); ++i) {
    check_interruption_at(i);
    const uint64_t before = earlier[pieces[i].token]++;
    if (before == 0) continue;
    const uint64_t hash = wide ? static_cast<uint64_t>(pieces[i].token)
                               : static_cast<uint32_t>(static_cast<int32_t>(pieces[i].token));
    pieces[i].token = in_set(occurrence_hash(hash, before), wide);
  }
}

}  // namespace

NormalText normal_text(std::string_view text, ShingleUnit unit, uint32_t size) {
  NormalText normal;
  const bool gram = unit == ShingleUnit::gram;
  if (gram) add_padding(normal, '#', size - 1, 1 - static_cast<int64_t>(size - 1));
  int64_t place = 0;
  FoldedText to = {nullptr, true, true, true};
  for_each_character(text, [&](std::string_view character) {
    ++place;
    const size_t before = normal.bytes.size();
    if (gram) {
      normal.bytes += character;
    } else {
      normal.bytes.resize(before + character.size() + fold_padding);
      to.end = normal.bytes.data() + before;
      const bool after_space = to.after_space;
      fold_text(nullptr, character, character.size(), &to);
      if (unit == ShingleUnit::run) keep_letters_and_digits(normal.bytes.data() + before, after_space, &to);
      normal.bytes.resize(static_cast<size_t>(to.end - normal.bytes.data()));
    }
    for_each_character(std::string_view(normal.bytes).substr(before),
                       [&](std::string_view) { normal.places.push_back(place); });
  });
  if (gram) {
    add_padding(normal, '$', size - 1, place + 1);
  } else if (to.after_space && !normal.bytes.empty()) {
    normal.bytes.pop_back();
    normal.places.pop_back();
  }
  return normal;
}

std::vector<TextPiece> pieces_of(const NormalText &text, const Tokenizer &tokenizer) {
  const bool by_characters = tokenizer.unit == ShingleUnit::character || tokenizer.unit == ShingleUnit::gram;
  const Units units = units_of(text.bytes, by_characters);
  const size_t count = units.begins.size(), size = static_cast<size_t>(tokenizer.size);
  std::vector<TextPiece> pieces;
  if (count == 0 || (count < size && tokenizer.unit == ShingleUnit::gram)) return pieces;
  for (size_t i = 0; i == 0 || i + size <= count; ++i) {
    check_interruption_at(i);
    const size_t last = std::min(i + size, count) - 1;
    const auto bytes =
        std::string_view(text.bytes).substr(units.begins[i], units.ends[last] - units.begins[i]);
    pieces.push_back({bytes, units.characters[i], in_set(token_value_hash(bytes), tokenizer.wide)});
  }
  if (tokenizer.multi) tell_occurrences_apart(pieces, tokenizer.wide);
  return pieces;
}

}  // namespace simjoin
