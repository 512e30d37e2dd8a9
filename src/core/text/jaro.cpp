#include "core/text/jaro.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>

#include "core/base/interruption.hpp"
#include "core/text/character_table.hpp"

namespace simjoin {
namespace {

constexpr double boosted_above = 0.7;
constexpr double boost = 0.1;  // a character in common at the begin
constexpr size_t most_boosts = 4;

// How many characters of two texts match, and how many of these stand in another order.
struct Matches {
  size_t count = 0;
  size_t moved = 0;
};

// The places of a text's characters: for each place the next one with the same character. Places count from
// 1 on, and 0 is none.
template <typename Character>
class PlacesOfCharacters {
 public:
  explicit PlacesOfCharacters(std::span<const Character> text)
      : text_(text), next_(std::make_unique_for_overwrite<uint32_t[]>(text.size() + 1)) {
    for (size_t place = text.size(); place > 0; --place) {
      check_interruption_at(place);
      uint32_t &first = firsts_.of(text[place - 1]);
      next_[place] = first;
      first = static_cast<uint32_t>(place);
    }
  }

  // Takes the first place from `from` on, up to `to`, that has the character and is free. Later calls must
  // not ask for places before `from`. Returns whether there is one.
  bool take(Character character, size_t from, size_t to) {
    uint32_t &first = firsts_.of(character);
    while (first != 0 && first < from) {
      check_interruption_at(steps_++);
      first = next_[first];
    }
    if (first == 0 || first > to) return false;
    const uint32_t place = first;
    first = next_[place];
    next_[place] = taken;
    return true;
  }

  // Calls visit(character) for the places that are taken, in their order.
  template <typename Visit>
  void for_each_taken(Visit visit) const {
    for (size_t i = 0; i < text_.size(); ++i) {
      check_interruption_at(i);
      if (next_[i + 1] == taken) visit(text_[i]);
    }
  }

 private:
  static constexpr uint32_t taken = ~uint32_t{0};

  std::span<const Character> text_;
  std::unique_ptr<uint32_t[]> next_;
  CharacterTable<Character> firsts_;  // the first place of each character that is free and not passed
  size_t steps_ = 0;
};

template <typename Character>
Matches matches_of(std::span<const Character> a, std::span<const Character> b) {
  const size_t half = std::max(a.size(), b.size()) / 2, range = half == 0 ? 0 : half - 1;
  PlacesOfCharacters<Character> places(b);
  std::vector<Character> matched;
  for (size_t i = 0; i < a.size(); ++i) {
    check_interruption_at(i);
    const size_t place = i + 1;
    if (places.take(a[i], place > range ? place - range : 1, place + range)) matched.push_back(a[i]);
  }
  Matches matches{matched.size(), 0};
  size_t i = 0;
  places.for_each_taken([&](Character character) { matches.moved += matched[i++] == character ? 0 : 1; });
  return matches;
}

}  // namespace

template <typename Character>
double jaro_similarity(std::span<const Character> a, std::span<const Character> b) {
  const Matches matches = matches_of(a, b);
  if (matches.count == 0) return 0;
  const auto count = static_cast<double>(matches.count);
  const auto in_order = static_cast<double>(matches.count - matches.moved / 2);
  return (count / static_cast<double>(a.size()) + count / static_cast<double>(b.size()) + in_order / count) /
         3;
}

template <typename Character>
double jaro_winkler_similarity(std::span<const Character> a, std::span<const Character> b) {
  const double similarity = jaro_similarity(a, b);
  if (!(similarity > boosted_above)) return similarity;
  size_t same = 0;
  while (same < std::min({a.size(), b.size(), most_boosts}) && a[same] == b[same]) ++same;
  return similarity + static_cast<double>(same) * boost * (1 - similarity);
}

template <typename Character>
void add_character_tokens(std::span<const Character> text, std::vector<int64_t> *tokens) {
  CharacterTable<Character> counts;
  for (size_t i = 0; i < text.size(); ++i) {
    check_interruption_at(i);
    const uint64_t character = text[i];
    tokens->push_back(static_cast<int64_t>(character << 32 | counts.of(text[i])++));
  }
}

double least_cosine_for_jaro(double least) {
  return std::sqrt(std::max(3 * least - 2, 0.0));
}

double least_cosine_for_jaro_winkler(double least) {
  return std::sqrt(std::max(5 * least - 4, 0.0));
}

template double jaro_similarity(std::span<const uint8_t>, std::span<const uint8_t>);
template double jaro_similarity(std::span<const uint32_t>, std::span<const uint32_t>);
template double jaro_winkler_similarity(std::span<const uint8_t>, std::span<const uint8_t>);
template double jaro_winkler_similarity(std::span<const uint32_t>, std::span<const uint32_t>);
template void add_character_tokens(std::span<const uint8_t>, std::vector<int64_t> *);
template void add_character_tokens(std::span<const uint32_t>, std::vector<int64_t> *);

}  // namespace simjoin
