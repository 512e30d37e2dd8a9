// Shingles against a plain computation of the runs, whatever the parts and steps of the input.
#include "core/text/shingles.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace simjoin {
namespace {

// Returns the hashes of a text that is fed in parts that end at the given positions.
std::vector<uint64_t> shingles(std::string_view text, ShingleUnit unit, uint32_t size,
                               size_t budget = 1 << 20, const std::vector<size_t> &cuts = {}) {
  Shingler shingler(unit, size);
  size_t begin = 0;
  auto part = [&](size_t end) {
    shingler.feed(text.substr(begin, end - begin));
    while (shingler.step(budget)) {
    }
    begin = end;
  };
  for (size_t cut : cuts) part(cut);
  part(text.size());
  shingler.finish();
  return {shingler.hashes().begin(), shingler.hashes().end()};
}

// Returns the hash of one run, from a text with no other run.
uint64_t hash_of(const std::string &run) {
  const std::vector<uint64_t> hashes = shingles(run, ShingleUnit::character, 1u << 30);
  EXPECT_EQ(hashes.size(), 1u) << run;
  return hashes.at(0);
}

std::vector<uint64_t> hashes_of(const std::vector<std::string> &runs) {
  std::vector<uint64_t> hashes;
  for (const std::string &run : runs) hashes.push_back(hash_of(run));
  return hashes;
}

TEST(Shingles, HashIsXxh3) {
  EXPECT_EQ(hash_of("hello"), 0x9555E8555C62DCFDu);
}

TEST(Shingles, CharactersAreCodePoints) {
  EXPECT_EQ(shingles("aä€𝄞b", ShingleUnit::character, 2), hashes_of({"aä", "ä€", "€𝄞", "𝄞b"}));
  EXPECT_EQ(shingles("ä", ShingleUnit::character, 1), hashes_of({"ä"}));
}

TEST(Shingles, WhiteSpaceIsFolded) {
  const std::string spaced =
      " \t a \r\n\v\f b\xC2\x85\xC2\xA0\xE1\x9A\x80\xE2\x80\xA8\xE2\x81\x9F\xE3\x80\x80";
  EXPECT_EQ(shingles(spaced, ShingleUnit::character, 2), shingles("a b", ShingleUnit::character, 2));
  EXPECT_EQ(shingles("a b", ShingleUnit::character, 2).size(), 2u);
  EXPECT_EQ(shingles("one  two\xE2\x80\x83three ", ShingleUnit::word, 2),
            hashes_of({"one two", "two three"}));
}

TEST(Shingles, ZeroWidthSpaceIsNone) {
  EXPECT_EQ(shingles("one\xE2\x80\x8Btwo", ShingleUnit::word, 1).size(), 1u);
}

TEST(Shingles, ShortTextsAreOneAndBlankOnesNone) {
  for (ShingleUnit unit : {ShingleUnit::character, ShingleUnit::word}) {
    EXPECT_EQ(shingles(" a b ", unit, 4), hashes_of({"a b"}));
    EXPECT_TRUE(shingles("", unit, 1).empty());
    EXPECT_TRUE(shingles(" \n ", unit, 1).empty());
  }
}

TEST(Shingles, RepeatedRunsAreKept) {
  EXPECT_EQ(shingles("aaaa", ShingleUnit::character, 2), hashes_of({"aa", "aa", "aa"}));
  EXPECT_EQ(shingles("a b a b", ShingleUnit::word, 2), hashes_of({"a b", "b a", "a b"}));
}

TEST(Shingles, BytesOutsideUtf8AreCharacters) {
  // Lone continuation, overlong lead, lead past Unicode, characters cut off by another and by the end.
  const std::string bytes =
      "\x80\xC0\xF5\xE2\x82"
      "a\xE2\x82";
  EXPECT_EQ(shingles(bytes, ShingleUnit::character, 1).size(), bytes.size());
}

// Partitions and budgets make no difference, also for random bytes.
TEST(Shingles, PartsAndStepsDoNotMatter) {
  std::mt19937 random(1);
  const std::string alphabet = "ab \n\xC2\xA0\xE2\x82\xAC";
  for (int round = 0; round < 300; ++round) {
    std::string text;
    std::vector<size_t> cuts;
    for (int i = static_cast<int>(random() % 40); i > 0; --i) {
      // Cuts before ASCII characters do not divide others.
      const char next = alphabet[random() % alphabet.size()];
      if (static_cast<uint8_t>(next) < 0x80 && random() % 3 == 0) cuts.push_back(text.size());
      text += next;
    }
    for (ShingleUnit unit : {ShingleUnit::character, ShingleUnit::word}) {
      const uint32_t size = 1 + random() % 5;
      const std::vector<uint64_t> expected = shingles(text, unit, size);
      EXPECT_EQ(shingles(text, unit, size, 1), expected);
      EXPECT_EQ(shingles(text, unit, size, 3, cuts), expected);
    }
  }
}

}  // namespace
}  // namespace simjoin
