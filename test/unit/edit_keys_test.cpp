// Keys against distances.
#include "core/text/edit_keys.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "unit/edit_texts.hpp"

namespace simjoin {
namespace {

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
  TextDraws draws(4);
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
  TextDraws draws(13);
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
  TextDraws draws(16);
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
  TextDraws draws(15);
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
  TextDraws draws(21);
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

// The shorter text is the beginning of the longer one, so that all keys they share are those of its length.
TEST(EditSimilarityKeys, AreSharedByTextsExactlyOnTheSimilarity) {
  TextDraws draws(23);
  Text letters;
  for (uint32_t letter = 'a'; letter <= 'z'; ++letter) letters.push_back(letter);
  for (size_t length = 1; length <= 120; ++length) {
    const Text a = draws.text(letters, length);
    for (size_t edits = 0; edits <= length / 2; ++edits) {
      const Text b(a.begin(), a.end() - static_cast<ptrdiff_t>(edits));
      const double similarity = 1 - static_cast<double>(edits) / static_cast<double>(length);
      ASSERT_TRUE(share_similarity_key(a, b, similarity)) << length << " " << edits;
      const double written = std::floor(100 * similarity) / 100;
      ASSERT_TRUE(share_similarity_key(a, b, written)) << length << " " << edits;
    }
  }
}

TEST(EditSimilarityKeys, TellMostOtherTextsApart) {
  TextDraws draws(22);
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
  TextDraws draws(5);
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
  TextDraws draws(6);
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
  TextDraws draws(8);
  for (int32_t edits = 0; edits <= most_edits; ++edits)
    for (size_t length = 0; length <= 40; ++length)
      EXPECT_LT(keys_of(draws.text(alphabets[1], length), edits).size(), 2000U) << edits << " " << length;
}

TEST(EditKeys, AreFewForLongTexts) {
  TextDraws draws(7);
  const Text a = draws.text(alphabets[1], 3'000'000), b = draws.edited(a, alphabets[1], 3);
  EXPECT_TRUE(share_key(a, b, 3));
  EXPECT_LT(keys_of(a, most_edits).size(), 2000U);
  EXPECT_FALSE(share_key(a, draws.text(alphabets[1], a.size()), 3));
}

}  // namespace
}  // namespace simjoin
