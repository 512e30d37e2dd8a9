// Prepared texts against utf8proc's functions for whole texts, and by Unicode's own examples.
#include "core/text/prepared_text.hpp"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <cstdlib>
#include <random>
#include <string>

#include "core/base/error.hpp"

namespace simjoin {
namespace {

constexpr Preparation nfkc{true, false, false}, unaccent{false, true, false}, casefold{false, false, true},
    all{true, true, true};

std::string prepared(const Preparation &preparation, std::string_view text, size_t budget = SIZE_MAX) {
  PreparedText preparer;
  preparer.begin(preparation, text);
  while (preparer.step(budget)) {
  }
  return std::string(preparer.text());
}

// Returns what utf8proc makes of the text as a whole.
std::string whole(const std::string &text, int options) {
  utf8proc_uint8_t *mapped = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t *>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                                             static_cast<utf8proc_option_t>(options));
  EXPECT_GE(size, 0);
  std::string result(reinterpret_cast<const char *>(mapped), static_cast<size_t>(size));
  std::free(mapped);
  return result;
}

TEST(PreparedText, EqualCharactersAreOne) {
  EXPECT_EQ(prepared(nfkc, "ﬁn ① Ａ１ ｶﾞ e\u0301 \u212B"), "fin 1 A1 ガ é Å");
  EXPECT_EQ(prepared(nfkc, "Straße, SS"), "Straße, SS");
  EXPECT_EQ(prepared(nfkc, "\u1112\u1161\u11AB"), "한");
  EXPECT_EQ(prepared(nfkc, ""), "");
}

TEST(PreparedText, AccentsGo) {
  EXPECT_EQ(prepared(unaccent, "Áé ñ Ǿ e\u0323\u0302 й ΐ Łódź Ærø Straße ıİ"),
            "Ae n O e и ι Lodz AEro Strasse iI");
  // Marks of other scripts are no accents, and neither are compatible characters alike.
  EXPECT_EQ(prepared(unaccent, "हिन्दी が ไม้ ① ﬁ"), "हिन्दी が ไม้ ① ﬁ");
  EXPECT_EQ(prepared(unaccent, "\u1112\u1161\u11AB\u0301"), "한");
}

TEST(PreparedText, CaseFolds) {
  EXPECT_EQ(prepared(casefold, "ABC Straße ΣΑΣ ÀÉ"), "abc strasse σασ àé");
  EXPECT_EQ(prepared(casefold, "ASCII [ONLY]"), "ascii [only]");
  EXPECT_EQ(prepared(all, "ﬁ É ＳＴＲＡẞＥ \u212A"), "fi e strasse k");
}

// A part ends where the next character makes no difference to it.
TEST(PreparedText, PartsMakeNoDifference) {
  const std::string_view characters[] = {
      "a",      "Z",  " ",  "é",   "e\u0301", "\u0323", "\u0301", "\u0345", "ᄒ",     "\u1161",
      "\u11AB", "가", "ㅏ", "ｶ",   "ﾞ",       "か",     "\u3099", "क",      "\u093C", "\u09C7",
      "\u09BE", "漢", "ﷺ",  "𝅘𝅥𝅮", "ß",       "Σ",      "ﾻ",      "ﾡ",      "\u0E33", "①"};
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    // Few characters in each text, so that the same ones meet at many borders.
    std::string_view alphabet[4];
    for (std::string_view &character : alphabet) character = characters[random() % std::size(characters)];
    std::string text(random() % 5, 'x');
    while (text.size() < 20'000) text += random() % 40 == 0 ? "漢" : alphabet[random() % 4];
    const size_t budget = random() % 2 == 0 ? 1 : SIZE_MAX;
    ASSERT_EQ(prepared(nfkc, text, budget), whole(text, UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT))
        << text;
    ASSERT_EQ(prepared(casefold, text, budget), whole(text, UTF8PROC_STABLE | UTF8PROC_CASEFOLD)) << text;
  }
}

TEST(PreparedText, AnyRunOfMarksEnds) {
  std::string marks = "a";
  for (int i = 0; i < 20'000; ++i) marks += i % 2 == 0 ? "\u0301" : "\u0323";
  EXPECT_EQ(prepared(unaccent, marks), "a");
  EXPECT_GT(prepared(nfkc, marks).size(), 30'000u);
}

TEST(PreparedText, RefusesWhatIsNotUtf8) {
  EXPECT_THROW(prepared(nfkc, "a\x80"), Error);
  EXPECT_THROW(prepared(all, "\xE2\x82"), Error);
}

}  // namespace
}  // namespace simjoin
