// Random texts and their edits, and distances by the plain table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace simjoin {

using Text = std::vector<uint32_t>;

// The characters of a random text: ASCII, accents, Chinese, combining marks, or few letters that repeat.
inline const std::vector<Text> alphabets = {{'a', 'b'},
                                            {'a', 'b', 'c', 'd', 'e', 'f', 'g', ' '},
                                            {0xE9, 0xFC, 'e', 'u', 0xDF},
                                            {0x4E00, 0x4E8C, 0x4E09, 0x20000, 0x1F600},
                                            {'e', 0x301, 'o', 0x308, 0x80, 0x100, 0x180}};

class TextDraws {
 public:
  explicit TextDraws(unsigned seed) : random_(seed) {}

  size_t number(size_t least, size_t most) {
    return std::uniform_int_distribution<size_t>(least, most)(random_);
  }
  Text text(const Text &alphabet, size_t length) {
    Text text(length);
    for (uint32_t &character : text) character = alphabet[number(0, alphabet.size() - 1)];
    return text;
  }
  // Returns the text after some edits.
  Text edited(Text text, const Text &alphabet, size_t edits) {
    for (size_t i = 0; i < edits; ++i) {
      const size_t at = number(0, text.size());
      const auto place = text.begin() + static_cast<std::ptrdiff_t>(at);
      const size_t kind = at == text.size() ? 0 : number(0, 2);
      if (kind == 0) text.insert(place, alphabet[number(0, alphabet.size() - 1)]);
      if (kind == 1) text.erase(place);
      if (kind == 2) *place = alphabet[number(0, alphabet.size() - 1)];
    }
    return text;
  }

 private:
  std::mt19937 random_;
};

inline int64_t distance_by_table(const Text &a, const Text &b) {
  std::vector<int64_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int64_t>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int64_t diagonal = row[0];
    row[0] = static_cast<int64_t>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int64_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

inline int64_t damerau_by_table(const Text &a, const Text &b) {
  std::vector<std::vector<int64_t>> table(a.size() + 1, std::vector<int64_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      int64_t &distance = table[i][j];
      distance = static_cast<int64_t>(i + j);
      if (i == 0 || j == 0) continue;
      distance = std::min(
          {table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), table[i - 1][j] + 1, table[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        distance = std::min(distance, table[i - 2][j - 2] + 1);
    }
  }
  return table[a.size()][b.size()];
}

// Returns the text after some edits and exchanges.
inline Text edited_and_exchanged(Text text, const Text &alphabet, size_t edits, TextDraws *draws) {
  for (; edits > 0; --edits) {
    if (text.size() < 2 || draws->number(0, 1) == 0) {
      text = draws->edited(text, alphabet, 1);
    } else {
      const size_t at = draws->number(0, text.size() - 2);
      std::swap(text[at], text[at + 1]);
    }
  }
  return text;
}

}  // namespace simjoin
