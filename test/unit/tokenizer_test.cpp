// The names of tokenizers: what each text names, and that nothing else is taken for a name.
#include "core/text/tokenizer.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace simjoin {
namespace {

std::optional<Tokenizer> parsed(std::string_view text) {
  std::string_view wrong;
  return parse_tokenizer(text, &wrong);
}

std::string canonical(const Tokenizer &tokenizer) {
  std::string name(tokenizer.configuration.size() + longest_canonical_name, '\0');
  name.resize(write_canonical_name(tokenizer, name.data()));
  return name;
}

TEST(Tokenizer, NamesShinglesWithTheirSizes) {
  const struct {
    const char *text;
    ShingleUnit unit;
    bool wide;
    int32_t size;
  } cases[] = {{"shingles", ShingleUnit::character, false, 5},
               {"shingles(3)", ShingleUnit::character, false, 3},
               {" shingles64 ( 9 ) ", ShingleUnit::character, true, 9},
               {"word_shingles", ShingleUnit::word, false, 3},
               {"word_shingles(\t2\n)", ShingleUnit::word, false, 2},
               {"word_shingles64(2147483647)", ShingleUnit::word, true, 2147483647},
               {"qgrams", ShingleUnit::gram, false, 3},
               {"qgrams64(255)", ShingleUnit::gram, true, 255},
               {"alnum", ShingleUnit::run, false, 1},
               {" alnum64\t", ShingleUnit::run, true, 1}};
  for (const auto &expected : cases) {
    const auto tokenizer = parsed(expected.text);
    ASSERT_TRUE(tokenizer) << expected.text;
    EXPECT_TRUE(tokenizer->shingled);
    EXPECT_EQ(tokenizer->unit, expected.unit) << expected.text;
    EXPECT_EQ(tokenizer->wide, expected.wide) << expected.text;
    EXPECT_EQ(tokenizer->size, expected.size) << expected.text;
  }
}

TEST(Tokenizer, NamesWordsWithTheirConfiguration) {
  for (const auto &[text, configuration] :
       {std::pair{"words", ""}, {"words(english)", "english"}, {" words ( a.\"B (c)\" ) ", "a.\"B (c)\""}}) {
    const auto tokenizer = parsed(text);
    ASSERT_TRUE(tokenizer) << text;
    EXPECT_FALSE(tokenizer->shingled);
    EXPECT_EQ(tokenizer->configuration, configuration);
  }
}

TEST(Tokenizer, TakesOptions) {
  EXPECT_TRUE(parsed("alnum( multi )")->multi);
  EXPECT_FALSE(parsed("shingles(4)")->multi);
  EXPECT_EQ(parsed("shingles(4,multi)")->size, 4);
  EXPECT_EQ(parsed("qgrams(multi)")->size, 3);
  EXPECT_TRUE(parsed("words(multi)")->configuration.empty());
  const auto words = parsed("words(\"a, \"\"b(multi)\" , multi)");
  ASSERT_TRUE(words);
  EXPECT_EQ(words->configuration, "\"a, \"\"b(multi)\"");
  EXPECT_TRUE(words->multi);
  EXPECT_EQ(parsed("words(\"multi\")")->configuration, "\"multi\"");
  EXPECT_FALSE(parsed("alnum(multi)")->preparation().any());
  const Preparation all = parsed("alnum(casefold, unaccent, nfkc)")->preparation();
  EXPECT_TRUE(all.nfkc && all.unaccent && all.casefold);
}

TEST(Tokenizer, HasOneCanonicalName) {
  for (const auto &[text, name] :
       {std::pair{"shingles", "shingles(5)"},
        {" word_shingles64\n( 2147483647 )", "word_shingles64(2147483647)"},
        {" alnum ", "alnum"},
        {"qgrams( 2)", "qgrams(2)"},
        {"words", "words"},
        {"shingles(multi)", "shingles(5, multi)"},
        {"alnum( multi )", "alnum(multi)"},
        {"words(multi)", "words(multi)"},
        {"shingles64(3,casefold,nfkc, unaccent,multi)", "shingles64(3, multi, nfkc, unaccent, casefold)"},
        {"words(english, casefold)", "words(english, casefold)"},
        {"words( simple,multi)", "words(simple, multi)"},
        {"words ( a.\"B (c)\" )", "words(a.\"B (c)\")"}}) {
    ASSERT_TRUE(parsed(text)) << text;
    EXPECT_EQ(canonical(*parsed(text)), name);
    EXPECT_EQ(canonical(*parsed(name)), name);
  }
}

TEST(Tokenizer, NamesTheWrongArgument) {
  for (const auto &[text, argument] : {std::pair{"shingles( 0 )", "0"},
                                       {"alnum(3)", "3"},
                                       {"shingles(5.0)", "5.0"},
                                       {"letters(3)", ""},
                                       {"shingles(3, mutli)", "mutli"},
                                       {"shingles(multi, 3)", "3"},
                                       {"shingles(3, multi, multi)", "multi"},
                                       {"alnum(multi, a)", "a"},
                                       {"words(multi, english)", "english"},
                                       {"words(english, german)", "german"},
                                       {"shingles(3, )", ""},
                                       {"shingles(, multi)", ""},
                                       {"alnum(", ""},
                                       {"alnum()", ""},
                                       {"words(english)", ""}}) {
    std::string_view wrong;
    parse_tokenizer(text, &wrong);
    EXPECT_EQ(wrong, argument) << text;
  }
}

TEST(Tokenizer, TakesNothingElse) {
  for (const char *text : {"",
                           " ",
                           "(",
                           ")",
                           "()",
                           "(5)",
                           "shingle",
                           "Shingles(5)",
                           "shingles()",
                           "shingles( )",
                           "shingles(0)",
                           "shingles(-1)",
                           "shingles(+1)",
                           "shingles(5",
                           "shingles5)",
                           "shingles(5))",
                           "shingles((5))",
                           "shingles(5) x",
                           "shingles(2147483648)",
                           "shingles(99999999999999999999)",
                           "shingles(5.0)",
                           "shingles(5, 6)",
                           "shingles(a)",
                           "shingles(5)(6)",
                           "words()",
                           "words(english",
                           "wordsenglish)",
                           "alnum(1)",
                           "qgrams(0)",
                           "qgrams(256)",
                           "Alnum",
                           "word",
                           "shingles\\(5)"})
    EXPECT_FALSE(parsed(text)) << text;
  using namespace std::string_literals;
  EXPECT_FALSE(parsed("shingles\0(5)"s));
  EXPECT_FALSE(parsed("shingles(5\0)"s));
}

}  // namespace
}  // namespace simjoin
