// Edit distances against the plain table of distances, and keys against distances.
#include "core/text/edit_distance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "core/text/damerau_distance.hpp"
#include "core/text/edit_keys.hpp"

namespace simjoin {
namespace {

using Text = std::vector<uint32_t>;

// The characters of a random text: ASCII, accents, Chinese, combining marks, or few letters that repeat.
const std::vector<Text> alphabets = {{'a', 'b'},
                                     {'a', 'b', 'c', 'd', 'e', 'f', 'g', ' '},
                                     {0xE9, 0xFC, 'e', 'u', 0xDF},
                                     {0x4E00, 0x4E8C, 0x4E09, 0x20000, 0x1F600},
                                     {'e', 0x301, 'o', 0x308, 0x80, 0x100, 0x180}};

class Draws {
 public:
  explicit Draws(unsigned seed) : random_(seed) {}

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

int64_t distance_by_table(const Text &a, const Text &b) {
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

template <typename Character>
void expect_distances(const std::vector<Character> &a, const std::vector<Character> &b, int64_t expected,
                      Draws *draws) {
  const std::span<const Character> first(a), second(b);
  ASSERT_EQ(edit_distance(first, second), expected);
  ASSERT_EQ(edit_distance(second, first), expected);
  const auto longest = static_cast<int64_t>(std::max(a.size(), b.size()));
  for (int64_t most : {int64_t{0}, expected - 1, expected, expected + 1, longest, longest * 3,
                       int64_t{1} << 40, static_cast<int64_t>(draws->number(0, a.size() + b.size()))}) {
    if (most < 0) continue;
    ASSERT_EQ(edit_distance_up_to(first, second, most), std::min(expected, most + 1)) << most;
  }
}

void expect_distances(const Text &a, const Text &b, Draws *draws) {
  const int64_t expected = distance_by_table(a, b);
  expect_distances<uint32_t>(a, b, expected, draws);
  const auto is_byte = [](uint32_t character) { return character < 256; };
  if (!std::all_of(a.begin(), a.end(), is_byte) || !std::all_of(b.begin(), b.end(), is_byte)) return;
  expect_distances<uint8_t>(std::vector<uint8_t>(a.begin(), a.end()),
                            std::vector<uint8_t>(b.begin(), b.end()), expected, draws);
}

TEST(EditDistance, IsThatOfTheTableForShortTexts) {
  Draws draws(1);
  for (int i = 0; i < 4000; ++i) {
    const Text &alphabet = alphabets[draws.number(0, alphabets.size() - 1)];
    const Text a = draws.text(alphabet, draws.number(0, 12));
    expect_distances(a, draws.text(alphabet, draws.number(0, 12)), &draws);
    expect_distances(a, draws.edited(a, alphabet, draws.number(0, 4)), &draws);
  }
}

TEST(EditDistance, IsThatOfTheTableForTextsOfSeveralBlocks) {
  Draws draws(2);
  for (int i = 0; i < 250; ++i) {
    const Text &alphabet = alphabets[draws.number(0, alphabets.size() - 1)];
    const Text a = draws.text(alphabet, draws.number(1, 300));
    expect_distances(a, draws.text(alphabet, draws.number(1, 300)), &draws);
    expect_distances(a, draws.edited(a, alphabet, draws.number(0, 60)), &draws);
  }
  for (const size_t length : {63U, 64U, 65U, 127U, 128U, 129U, 1000U, 1500U}) {
    const Text a = draws.text(alphabets[1], length);
    expect_distances(a, draws.edited(a, alphabets[1], draws.number(0, length / 3)), &draws);
    expect_distances(a, draws.text(alphabets[1], length + 70), &draws);
  }
}

TEST(EditDistance, TakesTimeByTheDistanceOfLongTexts) {
  Draws draws(3);
  const Text a = draws.text(alphabets[1], 3'000'000);
  Text b = draws.edited(a, alphabets[1], 20);
  b.front() = 'x';  // so that not all of the text is left out at once
  b.back() = 'y';
  const int64_t distance = edit_distance<uint32_t>(a, b);
  EXPECT_GT(distance, 2);
  EXPECT_LE(distance, 22);
  EXPECT_EQ(edit_distance_up_to<uint32_t>(a, b, distance - 1), distance);
}

// ---- With exchanges ----

int64_t damerau_by_table(const Text &a, const Text &b) {
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

void expect_damerau_distances(const Text &a, const Text &b) {
  const int64_t expected = damerau_by_table(a, b);
  ASSERT_EQ(damerau_distance<uint32_t>(a, b), expected);
  ASSERT_EQ(damerau_distance<uint32_t>(b, a), expected);
  for (const int64_t most : {int64_t{0}, expected - 1, expected, expected + 1, int64_t{1} << 40})
    if (most >= 0)
      ASSERT_EQ(damerau_distance_up_to<uint32_t>(a, b, most), std::min(expected, most + 1)) << most;
}

// Returns the text after some edits and exchanges.
Text edited_and_exchanged(Text text, const Text &alphabet, size_t edits, Draws *draws) {
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

TEST(DamerauDistance, IsThatOfTheTable) {
  Draws draws(11);
  for (int i = 0; i < 6000; ++i) {
    const Text &alphabet = alphabets[draws.number(0, alphabets.size() - 1)];
    const Text a = draws.text(alphabet, draws.number(0, i % 40 == 0 ? 150 : 12));
    expect_damerau_distances(a, draws.text(alphabet, draws.number(0, 12)));
    expect_damerau_distances(a, edited_and_exchanged(a, alphabet, draws.number(0, 5), &draws));
  }
  // Nothing is changed between two neighbours that are exchanged.
  EXPECT_EQ(damerau_distance<uint32_t>(Text{'c', 'a'}, Text{'a', 'b', 'c'}), 3);
}

TEST(DamerauDistance, TakesTimeByTheDistanceOfLongTexts) {
  Draws draws(12);
  const Text a = draws.text(alphabets[1], 1'000'000);
  Text b = edited_and_exchanged(a, alphabets[1], 10, &draws);
  b.front() = 'x';
  b.back() = 'y';
  const int64_t distance = damerau_distance<uint32_t>(a, b);
  EXPECT_GT(distance, 2);
  EXPECT_LE(distance, 12);
}

// ---- Keys ----

template <typename Character>
std::vector<int32_t> keys_of(const std::vector<Character> &text, int32_t edits) {
  std::vector<int32_t> keys;
  add_edit_keys(std::span<const Character>(text), edits, &keys);
  std::sort(keys.begin(), keys.end());
  return keys;
}

bool have_common(const std::vector<int32_t> &first, const std::vector<int32_t> &second) {
  std::vector<int32_t> common;
  std::set_intersection(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(common));
  return !common.empty();
}

bool share_key(const Text &a, const Text &b, int32_t edits) {
  return have_common(keys_of(a, edits), keys_of(b, edits));
}

TEST(EditKeys, AreSharedWithinTheDistance) {
  Draws draws(4);
  for (int i = 0; i < 6000; ++i) {
    const Text &alphabet = alphabets[draws.number(0, alphabets.size() - 1)];
    const auto edits = static_cast<int32_t>(draws.number(0, 1 + draws.number(0, most_edits - 1)));
    const Text a = draws.text(alphabet, draws.number(0, draws.number(0, 1) == 0 ? 45 : 150));
    const Text b = draws.edited(a, alphabet, static_cast<size_t>(edits));
    ASSERT_TRUE(share_key(a, b, edits)) << a.size() << " " << b.size() << " " << edits;
  }
}

// All pairs of short texts of two letters: no edit script is left out.
TEST(EditKeys, AreSharedByAllPairsOfShortTexts) {
  std::vector<Text> texts;
  for (uint32_t length = 0; length <= 7; ++length) {
    for (uint32_t bits = 0; bits < 1U << length; ++bits) {
      Text text(length);
      for (uint32_t i = 0; i < length; ++i) text[i] = 'a' + (bits >> i & 1);
      texts.push_back(text);
    }
  }
  for (const int32_t edits : {1, 2, 4}) {
    for (const Text &a : texts) {
      for (const Text &b : texts) {
        if (damerau_by_table(a, b) > edits) continue;
        ASSERT_TRUE(share_key(a, b, edits)) << a.size() << " " << b.size() << " " << edits;
      }
    }
  }
}

TEST(EditKeys, AreSharedWithinTheDistanceByDamerau) {
  Draws draws(13);
  for (int i = 0; i < 6000; ++i) {
    const Text &alphabet = alphabets[draws.number(0, alphabets.size() - 1)];
    const auto edits = static_cast<int32_t>(draws.number(0, 1 + draws.number(0, most_edits - 1)));
    const Text a = draws.text(alphabet, draws.number(0, draws.number(0, 1) == 0 ? 45 : 150));
    // The distance of one edit after the other is not restricted.
    const Text b = edited_and_exchanged(a, alphabet, static_cast<size_t>(edits), &draws);
    ASSERT_TRUE(share_key(a, b, edits)) << a.size() << " " << b.size() << " " << edits;
  }
}

// One piece of the part that two texts have in common is unchanged, whichever it is.
TEST(EditKeys, AreSharedWithAnEditInEachOtherPiece) {
  Draws draws(16);
  Text letters;
  for (uint32_t letter = 'a'; letter <= 'z'; ++letter) letters.push_back(letter);
  for (const size_t edits : {1U, 2U, 3U, 4U, 5U, 8U, 16U}) {
    for (const size_t kind : {0U, 1U, 2U}) {  // inserts, deletes, replaces
      for (size_t unchanged = 0; unchanged <= edits; ++unchanged) {
        const size_t piece = 33 / edits + 2;
        const Text a = draws.text(letters, (edits + 1) * piece);
        Text b = a;
        for (size_t i = edits + 1; i-- > 0;) {
          if (i == unchanged) continue;
          const auto place = b.begin() + static_cast<std::ptrdiff_t>(i * piece + piece / 2);
          if (kind == 0) b.insert(place, 'A');
          if (kind == 1) b.erase(place);
          if (kind == 2) *place = 'A';
        }
        const auto most = static_cast<int32_t>(edits);
        ASSERT_TRUE(share_key(a, b, most)) << edits << " " << kind << " " << unchanged;
        ASSERT_TRUE(share_key(b, a, most)) << edits << " " << kind << " " << unchanged;
      }
    }
  }
}

// An exchange may be of the last character of one piece of a text and the first one of the next.
TEST(EditKeys, AreSharedAfterAnyExchange) {
  Draws draws(15);
  Text letters;
  for (uint32_t letter = 'a'; letter <= 'z'; ++letter) letters.push_back(letter);
  for (const size_t length : {12U, 32U, 33U, 34U, 61U}) {
    const Text a = draws.text(letters, length);
    for (size_t at = 0; at + 1 < length; ++at) {
      Text b = a;
      std::swap(b[at], b[at + 1]);
      ASSERT_TRUE(share_key(a, b, 1)) << length << " " << at;
      for (size_t next = at + 2; next + 1 < length; ++next) {
        Text c = b;
        std::swap(c[next], c[next + 1]);
        ASSERT_TRUE(share_key(a, c, 2)) << length << " " << at << " " << next;
      }
    }
  }
}

bool share_similarity_key(const Text &a, const Text &b, double similarity) {
  std::vector<int32_t> first, second;
  add_edit_similarity_keys<uint32_t>(a, similarity, &first);
  add_edit_similarity_keys<uint32_t>(b, similarity, &second);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  return have_common(first, second);
}

double share_of_edits(const Text &a, const Text &b) {
  const size_t longer = std::max(a.size(), b.size());
  return static_cast<double>(distance_by_table(a, b)) / static_cast<double>(longer == 0 ? 1 : longer);
}

TEST(EditSimilarityKeys, AreSharedFromTheSimilarityOn) {
  Draws draws(21);
  int similar = 0;
  for (int i = 0; i < 2500; ++i) {
    const Text &alphabet = alphabets[draws.number(0, alphabets.size() - 1)];
    const Text a = draws.text(alphabet, draws.number(0, i % 9 == 0 ? 120 : 24));
    const Text b = draws.edited(a, alphabet, draws.number(0, 1 + a.size() / 3));
    const double share = share_of_edits(a, b);
    // The similarity itself, which the bound has some slack below.
    ASSERT_TRUE(share_similarity_key(a, b, 1 - share - 1e-9)) << a.size() << " " << b.size() << " " << share;
    for (const double similarity : {0.1, 0.5, 0.6, 0.75, 0.8, 0.9, 0.99}) {
      if (1 - share < similarity) continue;
      ++similar;
      ASSERT_TRUE(share_similarity_key(a, b, similarity - 1e-9)) << a.size() << " " << similarity;
    }
  }
  EXPECT_GT(similar, 4000);
}

TEST(EditSimilarityKeys, TellMostOtherTextsApart) {
  Draws draws(22);
  Text letters;
  for (uint32_t letter = 'a'; letter <= 'z'; ++letter) letters.push_back(letter);
  for (const auto &[similarity, length] : {std::pair{0.8, 13}, {0.9, 30}, {0.85, 60}}) {
    int shared = 0;
    for (int i = 0; i < 300; ++i)
      shared += share_similarity_key(draws.text(letters, static_cast<size_t>(length)),
                                     draws.text(letters, static_cast<size_t>(length)), similarity)
                    ? 1
                    : 0;
    EXPECT_LE(shared, 5) << similarity << " " << length;
  }
}

TEST(EditSimilarityKeys, ExistForAnySimilarity) {
  EXPECT_TRUE(share_similarity_key({}, Text(100, 'a'), 0));
  EXPECT_TRUE(share_similarity_key({}, {}, 1.5));
  EXPECT_FALSE(share_similarity_key({'a'}, {'a'}, 1.5));
  EXPECT_TRUE(share_similarity_key({'a'}, {'a'}, 1));
  EXPECT_FALSE(share_similarity_key({'a'}, {'b'}, 1));
  EXPECT_TRUE(share_similarity_key(Text(300, 'a'), Text(310, 'b'), 0.5));
}

TEST(EditKeys, TellMostOtherTextsApart) {
  Draws draws(5);
  Text letters;
  for (uint32_t letter = 'a'; letter <= 'z'; ++letter) letters.push_back(letter);
  for (const auto &[edits, length] : {std::pair{1, 9}, {2, 13}, {2, 40}, {3, 14}, {5, 64}, {16, 400}}) {
    int shared = 0;
    for (int i = 0; i < 300; ++i)
      shared += share_key(draws.text(letters, static_cast<size_t>(length)),
                          draws.text(letters, static_cast<size_t>(length)), edits)
                    ? 1
                    : 0;
    EXPECT_LE(shared, 3) << edits << " " << length;
  }
}

TEST(EditKeys, AreTheSameForBytesAndCodePoints) {
  Draws draws(6);
  for (const size_t length : {0U, 5U, 30U, 200U}) {
    const Text text = draws.text(alphabets[1], length);
    EXPECT_EQ(keys_of(text, 2), keys_of(std::vector<uint8_t>(text.begin(), text.end()), 2));
  }
}

TEST(EditKeys, ExistForAnyDistance) {
  EXPECT_TRUE(keys_of(Text{'a'}, -1).empty());
  EXPECT_EQ(keys_of(Text{'a'}, 0).size(), 1U);
  EXPECT_NE(keys_of(Text{'a'}, 0), keys_of(Text{'b'}, 0));
  EXPECT_TRUE(share_key({}, Text(1000, 'a'), most_edits + 1));
}

TEST(EditKeys, AreFewForShortTexts) {
  Draws draws(8);
  for (int32_t edits = 0; edits <= most_edits; ++edits)
    for (size_t length = 0; length <= 40; ++length)
      EXPECT_LT(keys_of(draws.text(alphabets[1], length), edits).size(), 2000U) << edits << " " << length;
}

TEST(EditKeys, AreFewForLongTexts) {
  Draws draws(7);
  const Text a = draws.text(alphabets[1], 3'000'000), b = draws.edited(a, alphabets[1], 3);
  EXPECT_TRUE(share_key(a, b, 3));
  EXPECT_LT(keys_of(a, most_edits).size(), 2000U);
  EXPECT_FALSE(share_key(a, draws.text(alphabets[1], a.size()), 3));
}

}  // namespace
}  // namespace simjoin
