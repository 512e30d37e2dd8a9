// Similarities by Jaro and Winkler against their definition, and what they say of sets of characters.
#include "core/text/jaro.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string_view>
#include <vector>

#include "core/measure.hpp"

namespace simjoin {
namespace {

using Text = std::vector<uint32_t>;

class Draws {
 public:
  explicit Draws(unsigned seed) : random_(seed) {}

  size_t number(size_t least, size_t most) {
    return std::uniform_int_distribution<size_t>(least, most)(random_);
  }
  // Returns a text of few letters, or of many characters.
  Text text(size_t length) {
    const uint32_t letters = number(0, 1) == 0 ? 6 : 90;
    Text text(length);
    for (uint32_t &character : text) character = 'a' + static_cast<uint32_t>(number(0, letters - 1)) * 7919;
    return text;
  }
  Text changed(Text text) {
    for (size_t i = number(0, 4); i > 0 && text.size() > 1; --i) {
      const size_t at = number(0, text.size() - 2);
      if (i % 2 == 0) std::swap(text[at], text[at + 1]);
      if (i % 2 == 1) text[at] = 'z';
    }
    return text;
  }

 private:
  std::mt19937 random_;
};

double jaro_by_definition(const Text &a, const Text &b) {
  const auto longest = static_cast<int64_t>(std::max(a.size(), b.size()));
  const int64_t range = std::max<int64_t>(longest / 2 - 1, 0);
  std::vector<bool> taken(b.size());
  Text from_a, from_b;
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < b.size(); ++j) {
      const auto apart = static_cast<int64_t>(i) - static_cast<int64_t>(j);
      if (apart > range || -apart > range || taken[j] || a[i] != b[j]) continue;
      taken[j] = true;
      from_a.push_back(a[i]);
      break;
    }
  }
  for (size_t j = 0; j < b.size(); ++j)
    if (taken[j]) from_b.push_back(b[j]);
  if (from_a.empty()) return 0;
  size_t moved = 0;
  for (size_t i = 0; i < from_a.size(); ++i) moved += from_a[i] != from_b[i] ? 1 : 0;
  const auto m = static_cast<double>(from_a.size());
  const auto in_order = static_cast<double>(from_a.size() - moved / 2);
  return (m / static_cast<double>(a.size()) + m / static_cast<double>(b.size()) + in_order / m) / 3;
}

double winkler_by_definition(const Text &a, const Text &b) {
  const double jaro = jaro_by_definition(a, b);
  int same = 0;
  for (size_t i = 0; i < std::min({a.size(), b.size(), size_t{4}}) && a[i] == b[i]; ++i) ++same;
  return jaro > 0.7 ? jaro + same * 0.1 * (1.0 - jaro) : jaro;
}

std::vector<int64_t> tokens_of(const Text &text) {
  std::vector<int64_t> tokens;
  add_character_tokens<uint32_t>(text, &tokens);
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

// Expects the similarities of the definition, either way round, and that sets of characters have their bound.
void expect_similarities(const Text &a, const Text &b) {
  const double jaro = jaro_by_definition(a, b), winkler = winkler_by_definition(a, b);
  ASSERT_EQ(jaro_similarity<uint32_t>(a, b), jaro);
  ASSERT_EQ(jaro_similarity<uint32_t>(b, a), jaro);
  ASSERT_EQ(jaro_winkler_similarity<uint32_t>(a, b), winkler);
  ASSERT_EQ(jaro_winkler_similarity<uint32_t>(b, a), winkler);
  const std::vector<int64_t> first = tokens_of(a), second = tokens_of(b);
  std::vector<int64_t> shared;
  std::set_intersection(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(shared));
  const double cosine = similarity(Measure::cosine, static_cast<int64_t>(shared.size()),
                                   static_cast<int64_t>(a.size()), static_cast<int64_t>(b.size()));
  ASSERT_GE(cosine, least_cosine_for_jaro(jaro) - 1e-7);
  ASSERT_GE(cosine, least_cosine_for_jaro_winkler(winkler) - 1e-7);
}

TEST(Jaro, IsThatOfTheDefinition) {
  Draws draws(1);
  for (int i = 0; i < 20000; ++i) {
    const Text a = draws.text(draws.number(0, i % 50 == 0 ? 300 : 15));
    expect_similarities(a, draws.changed(a));
    expect_similarities(a, draws.text(draws.number(0, 15)));
  }
}

TEST(Jaro, TakesBytesAndOtherCharactersAlike) {
  Draws draws(2);
  for (int i = 0; i < 2000; ++i) {
    std::vector<uint8_t> bytes[2];
    Text points[2];
    for (int side = 0; side < 2; ++side) {
      for (size_t left = draws.number(0, 30); left > 0; --left)
        bytes[side].push_back(static_cast<uint8_t>(draws.number(0, 255)));
      points[side].assign(bytes[side].begin(), bytes[side].end());
    }
    ASSERT_EQ(jaro_winkler_similarity<uint8_t>(bytes[0], bytes[1]),
              jaro_winkler_similarity<uint32_t>(points[0], points[1]));
    std::vector<int64_t> tokens;
    add_character_tokens<uint8_t>(bytes[0], &tokens);
    std::sort(tokens.begin(), tokens.end());
    ASSERT_EQ(tokens, tokens_of(points[0]));
    ASSERT_EQ(std::unique(tokens.begin(), tokens.end()), tokens.end());
  }
}

TEST(Jaro, HasTheValuesOfThePapers) {
  const auto winkler = [](std::string_view a, std::string_view b) {
    return jaro_winkler_similarity<uint32_t>(Text(a.begin(), a.end()), Text(b.begin(), b.end()));
  };
  EXPECT_NEAR(winkler("MARTHA", "MARHTA"), 0.961, 0.0005);
  EXPECT_NEAR(winkler("DIXON", "DICKSONX"), 0.813, 0.0005);
  EXPECT_NEAR(winkler("DWAYNE", "DUANE"), 0.840, 0.0005);
  EXPECT_EQ(winkler("", ""), 0);
  EXPECT_EQ(winkler("", "a"), 0);
  EXPECT_EQ(winkler("a", "a"), 1);
}

TEST(Jaro, TakesTimeByTheLengthsOfTexts) {
  Draws draws(3);
  const Text a = draws.text(2'000'000);
  const double similarity = jaro_similarity<uint32_t>(a, Text(a.rbegin(), a.rend()));
  EXPECT_GT(similarity, 0.6);
  EXPECT_LT(similarity, 0.95);
}

}  // namespace
}  // namespace simjoin
