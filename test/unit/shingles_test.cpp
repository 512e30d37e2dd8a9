// Sets of shingles against a plain computation of the runs, whatever the parts and steps of the input, on
// each instruction set.
#include "core/text/shingles.hpp"

#include <gtest/gtest.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/text/fold_kernels.hpp"
#include "unit/on_target.hpp"

namespace simjoin {
namespace {

using Texts = std::vector<std::string>;

// Letters that change ASCII and the capitals of Latin-1, know nothing of U+0100 to U+01FF, and leave others.
const Letters *test_letters() {
  static uint32_t page[Letters::page_size];
  static Letters letters;
  std::fill_n(letters.page, Letters::pages, Letters::unchanged);
  letters.page[0] = page;
  letters.page[1] = nullptr;
  for (uint32_t point = 0x80; point < 0x100; ++point) {
    const bool capital = point >= 0xC0 && point < 0xDF && point != 0xD7;
    const uint32_t lower = capital ? point + 0x20 : point;
    const char bytes[] = {static_cast<char>(0xC0 | lower >> 6), static_cast<char>(0x80 | (lower & 0x3F))};
    std::memcpy(&page[point], bytes, 2);
  }
  return &letters;
}

// Returns the text's characters. A byte that is not part of one is a character.
Texts characters_of(const std::string &text) {
  Texts characters;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    size_t length = lead < 0xC2 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 1;
    for (size_t j = 1; j < length; ++j)
      if (i + j >= text.size() || (static_cast<uint8_t>(text[i + j]) & 0xC0) != 0x80) length = 1;
    characters.push_back(text.substr(i, length));
    i += length;
  }
  return characters;
}

bool is_space(const std::string &character) {
  static const Texts spaces = {" ",      "\t",     "\n",     "\v",     "\f",     "\r",     "\u0085",
                               "\u00A0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004",
                               "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200A", "\u2028",
                               "\u2029", "\u202F", "\u205F", "\u3000"};
  return std::find(spaces.begin(), spaces.end(), character) != spaces.end();
}

std::string lower(std::string character) {
  if (character.size() == 1 && character[0] >= 'A' && character[0] <= 'Z') character[0] += 'a' - 'A';
  if (character >= "À" && character <= "Þ" && character.size() == 2 && character != "×") character[1] += 0x20;
  return character;
}

// Returns whether a character of the alphabets below belongs to a run of letters and digits.
bool is_in_run(const std::string &character, bool run_begun) {
  static const Texts others = {"×", "\u200B", "𝄞", "😀"};
  if (character.size() == 1) return std::isalnum(static_cast<unsigned char>(character[0])) != 0;
  if (character == "\u0301") return run_begun;
  return !is_space(character) && std::find(others.begin(), others.end(), character) == others.end();
}

// Returns the text's characters with white space folded, and what counts as such, but for grams.
Texts folded(const std::string &text, ShingleUnit unit, bool lowered) {
  if (unit == ShingleUnit::gram) return characters_of(text);
  Texts characters;
  for (const std::string &character : characters_of(text)) {
    const bool in_word = !characters.empty() && characters.back() != " ";
    if (unit == ShingleUnit::run ? is_in_run(character, in_word) : !is_space(character))
      characters.push_back(lowered ? lower(character) : character);
    else if (!characters.empty() && characters.back() != " ")
      characters.emplace_back(" ");
  }
  if (!characters.empty() && characters.back() == " ") characters.pop_back();
  return characters;
}

template <typename Value>
std::vector<Value> set_of_runs(const Texts &runs) {
  std::vector<Value> set;
  for (const std::string &run : runs) set.push_back(static_cast<Value>(XXH3_64bits(run.data(), run.size())));
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
  return set;
}

// The oracle: computes the runs one by one.
Texts runs_of(const std::string &text, ShingleUnit unit, size_t size, bool lowered) {
  Texts units, runs;
  const bool by_characters = unit == ShingleUnit::character || unit == ShingleUnit::gram;
  for (const std::string &character : folded(text, unit, lowered)) {
    if (!by_characters && character != " " && !units.empty())
      units.back() += character;
    else
      units.push_back(!by_characters && character == " " ? "" : character);
  }
  if (unit == ShingleUnit::gram) {
    units.insert(units.begin(), size - 1, "#");
    units.insert(units.end(), size - 1, "$");
  }
  for (size_t i = 0; i < units.size() && (i == 0 || i + size <= units.size()); ++i) {
    std::string run;
    for (size_t j = i; j < std::min(i + size, units.size()); ++j)
      run += (!by_characters && j > i ? " " : "") + units[j];
    runs.push_back(run);
  }
  return runs;
}

// Returns the set of a text that is fed in parts that end at the given positions.
template <typename Value>
std::vector<Value> shingles(Shingler<Value> &shingler, std::string_view text, ShingleUnit unit, uint32_t size,
                            const Letters *letters, size_t budget, std::vector<size_t> cuts = {}) {
  cuts.push_back(text.size());
  shingler.begin(unit, size);
  size_t begin = 0;
  for (size_t end : cuts) {
    shingler.feed(text.substr(begin, end - begin), letters);
    while (shingler.step(budget)) {
    }
    begin = end;
  }
  shingler.finish();
  const auto set = shingler.set();
  return {set.begin(), set.end()};
}

std::vector<int64_t> shingles(const std::string &text, ShingleUnit unit, uint32_t size) {
  Shingler<int64_t> shingler;
  return shingles(shingler, text, unit, size, nullptr, 1 << 20);
}

TEST(Shingles, HashIsXxh3) {
  const auto hash = static_cast<int64_t>(0x9555E8555C62DCFDu);
  EXPECT_EQ(shingles("hello", ShingleUnit::character, 5), std::vector<int64_t>{hash});
  Shingler<int32_t> narrow;
  EXPECT_EQ(shingles(narrow, "hello", ShingleUnit::character, 5, nullptr, 1),
            std::vector<int32_t>{static_cast<int32_t>(hash)});
}

TEST(Shingles, CharactersAreCodePoints) {
  EXPECT_EQ(shingles("aä€𝄞b", ShingleUnit::character, 2), set_of_runs<int64_t>({"aä", "ä€", "€𝄞", "𝄞b"}));
  EXPECT_EQ(shingles("ä", ShingleUnit::character, 1), set_of_runs<int64_t>({"ä"}));
}

TEST(Shingles, WhiteSpaceIsFolded) {
  const std::string spaced = " \t a \r\n\v\f b\u0085\u00A0\u1680\u2028\u205F\u3000";
  EXPECT_EQ(shingles(spaced, ShingleUnit::character, 2), set_of_runs<int64_t>({"a ", " b"}));
  EXPECT_EQ(shingles("one  two\u2003three ", ShingleUnit::word, 2),
            set_of_runs<int64_t>({"one two", "two three"}));
  EXPECT_EQ(shingles("one\u200Btwo", ShingleUnit::word, 1).size(), 1u);
}

TEST(Shingles, RunsAreOfLettersAndDigits) {
  const auto runs = [](const std::string &text) { return shingles(text, ShingleUnit::run, 1); };
  EXPECT_EQ(runs("310/246-1501"), set_of_runs<int64_t>({"310", "246", "1501"}));
  EXPECT_EQ(runs(" a_b, c.\t"), set_of_runs<int64_t>({"a", "b", "c"}));
  EXPECT_EQ(runs("größe漢字\u3001٣Ⅳ½"), set_of_runs<int64_t>({"größe漢字", "٣Ⅳ½"}));
  // A mark belongs to the letter before it, as vowels do in many scripts, and is none without a letter.
  EXPECT_EQ(runs("e\u0301te\u0301 हिन्दी \u2764\uFE0F"), set_of_runs<int64_t>({"e\u0301te\u0301", "हिन्दी"}));
  EXPECT_TRUE(runs("").empty());
  EXPECT_TRUE(runs(" -/\u2014\u3000\x80").empty());
}

TEST(Shingles, GramsArePaddedAndNotFolded) {
  const auto grams = [](const std::string &text, uint32_t size) {
    return shingles(text, ShingleUnit::gram, size);
  };
  EXPECT_EQ(grams("A b", 3), set_of_runs<int64_t>({"##A", "#A ", "A b", " b$", "b$$"}));
  EXPECT_EQ(grams(" é\t", 2), set_of_runs<int64_t>({"# ", " é", "é\t", "\t$"}));
  EXPECT_EQ(grams("a", 1), set_of_runs<int64_t>({"a"}));
  EXPECT_EQ(grams("", 3), set_of_runs<int64_t>({"##$", "#$$"}));
  EXPECT_TRUE(grams("", 1).empty());
}

// With each occurrence a token of its own, the set operations are those of bags.
TEST(Shingles, OccurrencesMayBeToldApart) {
  Shingler<int64_t> shingler;
  const auto bag = [&](std::string_view text) {
    shingler.begin(ShingleUnit::character, 1, true);
    shingler.feed(text, nullptr);
    while (shingler.step(SIZE_MAX)) {
    }
    shingler.finish();
    const auto set = shingler.set();
    return std::vector<int64_t>(set.begin(), set.end());
  };
  const auto shared = [&](std::string_view a, std::string_view b) {
    const auto x = bag(a), y = bag(b);
    std::vector<int64_t> both;
    std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both));
    return both.size();
  };
  EXPECT_EQ(bag("banana").size(), 6u);
  EXPECT_EQ(bag("abc"), shingles("abc", ShingleUnit::character, 1));
  EXPECT_EQ(shared("banana", "ananas"), 5u);
  EXPECT_EQ(shared("aaaaa", "aab"), 2u);
  EXPECT_EQ(bag(std::string(100'000, 'a')).size(), 100'000u);
}

TEST(Shingles, ShortTextsAreOneAndBlankOnesNone) {
  for (ShingleUnit unit : {ShingleUnit::character, ShingleUnit::word}) {
    EXPECT_EQ(shingles(" a b ", unit, 4), set_of_runs<int64_t>({"a b"}));
    EXPECT_TRUE(shingles("", unit, 1).empty());
    EXPECT_TRUE(shingles(" \n ", unit, 1).empty());
  }
}

TEST(Shingles, BytesOutsideUtf8AreCharacters) {
  // Lone continuation, overlong lead, lead past Unicode, characters cut off by another and by the end.
  const std::string bytes =
      "\x80\xC0\xF5\xE2\x82"
      "a\xE2";
  EXPECT_EQ(shingles(bytes, ShingleUnit::character, 1).size(), bytes.size() - 1);
}

// Alphabets of characters, and whether they are UTF-8.
struct Alphabet {
  Texts characters;
  bool is_utf8;
};
const Alphabet alphabets[] = {
    {{"a", "B", "c", "D", "e", "Z", "@", "[", "`", "{", "1", "\x7F", " "}, true},
    {{"a", "a", "A", " ", "\t", "\n", "\v", "\f", "\r", "\x0E", "\b"}, true},
    {{"a", "b", "C", "d", "e", "f", "é", "É", "ß", "×", " "}, true},
    {{"漢", "字", "a", "仮", "名", "\u3000", "가", " "}, true},
    {{"a", "\u0301", "\u00A0", "\u0085", "\u2003", "\u200B", "\u2028", "𝄞", "😀", "б", " "}, true},
    {{"a", "\x80", "\xC2", "\xE2", "\x82", "\xF0", "\xFF", "é", "字", " "}, false},
};

template <typename Value>
void check_random_texts(uint32_t seed, int rounds) {
  std::mt19937 random(seed);
  Shingler<Value> shingler;
  for (int round = 0; round < rounds; ++round) {
    const Alphabet &alphabet = alphabets[random() % std::size(alphabets)];
    const size_t length = random() % (round % 8 == 0 ? 3000 : round % 2 == 0 ? 300 : 40);
    std::string text;
    std::vector<size_t> cuts;
    for (size_t i = 0; i < length; ++i) {
      const size_t next = random() % alphabet.characters.size();
      // Nothing before the first character goes on with it.
      if (next == 0 && random() % 64 == 0) cuts.push_back(text.size());
      text += alphabet.characters[next];
    }
    const size_t sizes[] = {1 + random() % 20, 1 + random() % 20, 60 + random() % 10, 300, size_t{1} << 31};
    const size_t drawn = sizes[random() % std::size(sizes)];
    const size_t budget = random() % 2 == 0 ? SIZE_MAX : 1 + random() % 100;
    const Letters *letters = alphabet.is_utf8 && random() % 2 == 0 ? test_letters() : nullptr;
    for (ShingleUnit unit :
         {ShingleUnit::character, ShingleUnit::word, ShingleUnit::run, ShingleUnit::gram}) {
      if (unit == ShingleUnit::run && !alphabet.is_utf8) continue;
      const auto size = unit == ShingleUnit::run ? 1
                        : unit == ShingleUnit::gram
                            ? static_cast<uint32_t>(round % 32 == 0 ? 70 : 1 + drawn % 20)
                            : static_cast<uint32_t>(drawn);
      const auto expected =
          set_of_runs<Value>(runs_of(text, unit, size, letters != nullptr && unit != ShingleUnit::gram));
      ASSERT_EQ(shingles(shingler, text, unit, size, letters, budget), expected) << text << " by " << size;
      ASSERT_EQ(shingles(shingler, text, unit, size, letters, budget, cuts), expected)
          << text << " by " << size;
    }
  }
}

TEST(Shingles, AreThoseOfTheOracle) {
  for (int64_t target : test::all_targets()) {
    const test::OnTarget on(target);
    check_random_texts<int32_t>(1, 400);
    check_random_texts<int64_t>(2, 200);
  }
}

TEST(Shingles, RunsOfSpacesMayBeAnywhere) {
  Shingler<int64_t> shingler;
  for (int64_t target : test::all_targets()) {
    const test::OnTarget on(target);
    for (size_t at = 0; at <= 64; ++at) {
      for (size_t spaces : {1u, 2u, 31u, 33u, 70u}) {
        const std::string text = std::string(at, 'x') + std::string(spaces, ' ') + std::string(64 - at, 'y');
        EXPECT_EQ(shingles(shingler, text, ShingleUnit::character, 3, test_letters(), SIZE_MAX),
                  set_of_runs<int64_t>(runs_of(text, ShingleUnit::character, 3, true)))
            << at << " " << spaces;
      }
    }
  }
}

// Long texts lose the text before the window, and their numbers are divided before they are sorted.
TEST(Shingles, LongTexts) {
  std::mt19937 random(3);
  std::string text;
  for (int i = 0; i < 60'000; ++i) text += std::to_string(random() % 1000) + (i % 9 == 0 ? " é " : " ");
  for (const std::string tail : {"", "字"}) {
    Shingler<int32_t> shingler;
    for (ShingleUnit unit : {ShingleUnit::character, ShingleUnit::word})
      EXPECT_EQ(shingles(shingler, tail + text, unit, 4, nullptr, 100'000),
                set_of_runs<int32_t>(runs_of(tail + text, unit, 4, false)));
  }
  Shingler<int64_t> equal;
  EXPECT_EQ(shingles(equal, std::string(100'000, 'a'), ShingleUnit::character, 9, nullptr, 1 << 20).size(),
            1u);
}

TEST(Shingles, LettersKnowACharacterOrNot) {
  for (int64_t target : test::all_targets()) {
    const test::OnTarget on(target);
    for (size_t at = 0; at < 70; ++at) {
      const std::string before = std::string(at, 'a') + "éß漢𝄞";
      EXPECT_EQ(known_letters(*test_letters(), before + "bc"), before.size() + 2);
      for (const char *unknown : {"Ā", "\x80", "\xE2\x82", "\xF4\x90\x80\x80"})
        EXPECT_EQ(known_letters(*test_letters(), before + unknown + "bc"), before.size()) << at;
    }
  }
}

}  // namespace
}  // namespace simjoin
