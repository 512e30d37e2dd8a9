// The names of tokenizers: what each text names, and that nothing else is taken for a name.
#include "core/text/tokenizer.hpp"

#include <gtest/gtest.h>

#include <string>

namespace simjoin {
namespace {

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
               {"word_shingles64(2147483647)", ShingleUnit::word, true, 2147483647}};
  for (const auto &expected : cases) {
    const auto tokenizer = parse_tokenizer(expected.text);
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
    const auto tokenizer = parse_tokenizer(text);
    ASSERT_TRUE(tokenizer) << text;
    EXPECT_FALSE(tokenizer->shingled);
    EXPECT_EQ(tokenizer->configuration, configuration);
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
                           "word",
                           "shingles\\(5)"})
    EXPECT_FALSE(parse_tokenizer(text)) << text;
  using namespace std::string_literals;
  EXPECT_FALSE(parse_tokenizer("shingles\0(5)"s));
  EXPECT_FALSE(parse_tokenizer("shingles(5\0)"s));
}

}  // namespace
}  // namespace simjoin
