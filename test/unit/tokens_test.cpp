// Token types and values: 32- and 64-bit integers, and strings of any bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/sets/distinct_sample.hpp"
#include "core/sets/interner.hpp"
#include "core/sets/join_tokens.hpp"
#include "core/sets/raw_sets.hpp"
#include "core/sets/set_sizes.hpp"
#include "core/text/terms.hpp"
#include "unit/cpu_time.hpp"
#include "unit/drive.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

class TokenTest : public testing::TestWithParam<Algorithm> {
 protected:
  template <class Token>
  static void expect_oracle_pairs(const Input<Token> &input) {
    const Oracle<Token> oracle(input);
    for (Measure measure : {Measure::jaccard, Measure::overlap}) {
      for (double threshold : {0.4, 0.75, 1.0}) {
        EXPECT_EQ(difference(oracle.join(measure, threshold),
                             run(make_spec(GetParam(), measure, threshold), input)),
                  "")
            << name_of(measure) << " >= " << threshold << (input.self_join ? ", self-join" : "");
      }
    }
  }

  // Joins sets over an alphabet of awkward tokens, with themselves and with others.
  template <class Token>
  static void expect_oracle_pairs_over(const std::vector<Token> &alphabet) {
    RandomSets random(21);
    const auto last = static_cast<int32_t>(alphabet.size()) - 1;
    const auto draw = [&](size_t rows) {
      Sets<Token> sets(rows);
      for (auto &set : sets) {
        for (int32_t i = random.between(0, 8); i > 0; --i) {
          set.push_back(alphabet[static_cast<size_t>(random.between(0, last))]);
        }
      }
      return sets;
    };
    expect_oracle_pairs(Input<Token>{draw(70), {}, true});
    expect_oracle_pairs(Input<Token>{draw(40), draw(50), false});
  }
};

INSTANTIATE_TEST_SUITE_P(Every, TokenTest, testing::ValuesIn(all_algorithms),
                         [](const auto &info) { return name_of(info.param); });

template <class Integer>
std::vector<Integer> extreme_values() {
  constexpr Integer low = std::numeric_limits<Integer>::min(), high = std::numeric_limits<Integer>::max();
  return {low, static_cast<Integer>(low + 1), -2, -1, 0, 1, 2, static_cast<Integer>(high - 1), high};
}

TEST_P(TokenTest, ExtremeInt32) {
  expect_oracle_pairs_over(extreme_values<int32_t>());
}

TEST_P(TokenTest, ExtremeInt64) {
  expect_oracle_pairs_over(extreme_values<int64_t>());
}

TEST_P(TokenTest, Int64ThatDifferOnlyInOneHalf) {
  std::vector<int64_t> alphabet;
  for (int64_t high : {-2, -1, 0, 1, 77}) {
    for (int64_t low : {0, 1, 77}) alphabet.push_back(high * (int64_t{1} << 32) + low);
  }
  expect_oracle_pairs_over(alphabet);
}

// Values close to each other, at both ends of the type and around zero, and values far apart.
TEST_P(TokenTest, Int32RangesDenseAndSparse) {
  constexpr int32_t low = std::numeric_limits<int32_t>::min(), high = std::numeric_limits<int32_t>::max();
  for (const int32_t first : {low, -5, 0, high - 9}) {
    std::vector<int32_t> alphabet;
    for (int32_t i = 0; i < 10; ++i) alphabet.push_back(first + i);
    expect_oracle_pairs_over(alphabet);
    alphabet.push_back(first < 0 ? high : low);
    expect_oracle_pairs_over(alphabet);
  }
}

TEST_P(TokenTest, StringsOfAnyBytes) {
  expect_oracle_pairs_over<std::string>({"", "a", "b", "ab", "abc", std::string(1, '\0'),
                                         std::string(2, '\0'), std::string("a\0", 2), std::string("a\0b", 3),
                                         std::string("a\0c", 3), "\xff", "\xff\xfe", "é",
                                         std::string(1000, 'x'), std::string(1000, 'x') + "y"});
}

TEST_P(TokenTest, StringsThatShareLongPrefixesAndSuffixes) {
  std::vector<std::string> alphabet;
  for (char c = 'a'; c < 'k'; ++c) {
    alphabet.push_back(std::string(40, '-') + c);
    alphabet.push_back(c + std::string(40, '-'));
    alphabet.push_back(std::string(8, '-') + c + std::string(8, '-'));
  }
  expect_oracle_pairs_over(alphabet);
}

// Strings in a buffer that the caller reuses. The engine must not keep pointers into it.
TEST_P(TokenTest, StringsAreCopiedWhereTheyAreKept) {
  const auto engine = [] {
    JoinSpec spec = make_spec(GetParam(), Measure::jaccard, 0.5);
    spec.self_join = true;
    return make_cpu_engine(spec);
  }();
  for (const std::string word : {"apple", "grape", "apple", "peach", "grape"}) {
    std::string buffer = word;
    const std::string_view view = buffer;
    add_set(*engine, Side::left, std::span<const std::string_view>(&view, 1));
    std::fill(buffer.begin(), buffer.end(), '!');
  }
  EXPECT_EQ(pull(*engine), (std::vector<Pair>{{0, 2, 1}, {1, 4, 1}}));
}

// Many distinct strings, so that tables grow, and one shared token per pair of rows.
TEST_P(TokenTest, ManyDistinctStrings) {
  Input<std::string> input;
  input.self_join = true;
  std::vector<Pair> expected;
  constexpr uint32_t rows = 20'000;
  for (uint32_t row = 0; row < rows; ++row) {
    input.left.push_back({"pair " + std::to_string(row / 2), "row " + std::to_string(row)});
    if (row % 2 == 1) expected.push_back({row - 1, row, 1});
  }
  EXPECT_EQ(difference(expected, run(make_spec(GetParam(), Measure::overlap, 1.0), input)), "");
}

TEST_P(TokenTest, TypesGiveTheSamePairs) {
  for (const Input<int32_t> &narrow : {self_input(all_shapes[1], 22), two_sided_input(all_shapes[3], 23)}) {
    const auto as_int64 = [](const IntSets &sets) {
      Sets<int64_t> result;
      for (const IntSet &set : sets) {
        result.emplace_back();
        for (int32_t token : set) result.back().push_back(int64_t{token} * 0x1'0000'0003 - 7);
      }
      return result;
    };
    const auto as_text = [](const IntSets &sets) {
      Sets<std::string> result;
      for (const IntSet &set : sets) {
        result.emplace_back();
        for (int32_t token : set) result.back().push_back(std::to_string(token));
      }
      return result;
    };
    const JoinSpec spec = make_spec(GetParam(), Measure::cosine, 0.6);
    const std::vector<Pair> expected = run(spec, narrow);
    EXPECT_FALSE(expected.empty());
    EXPECT_EQ(run(spec, Input<int64_t>{as_int64(narrow.left), as_int64(narrow.right), narrow.self_join}),
              expected);
    EXPECT_EQ(run(spec, Input<std::string>{as_text(narrow.left), as_text(narrow.right), narrow.self_join}),
              expected);
  }
}

TEST_P(TokenTest, SetsOfOneJoinHaveOneType) {
  const auto kind_of = [](auto &&first, auto &&second) {
    const auto engine = make_cpu_engine(make_spec(GetParam(), Measure::jaccard, 0.5));
    add_set(*engine, Side::left, std::span(&first, 1));
    add_set(*engine, Side::right, std::span(&second, 0));  // of no type, since it is empty
    try {
      add_set(*engine, Side::right, std::span(&second, 1));
    } catch (const Error &error) {
      return error.kind();
    }
    return ErrorKind::internal;
  };
  const int32_t narrow = 1;
  const int64_t wide = 1;
  const std::string_view text = "1";
  EXPECT_EQ(kind_of(narrow, wide), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of(wide, narrow), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of(narrow, text), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of(text, narrow), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of(text, wide), ErrorKind::invalid_argument);
}

// The estimate that decides whether a join needs a file.
TEST(DistinctSampleTest, IsCloseForAnyPattern) {
  for (const uint32_t count : {0u, 1u, 1000u, 50'000u, 2'000'000u}) {
    for (const uint32_t factor : {1u, 64u, 2654435761u}) {
      MemoryCounter memory;
      DistinctSample sample(memory);
      for (int times = 0; times < 2; ++times) {
        for (uint32_t i = 1; i <= count; ++i) {
          const uint32_t value = i * factor;
          sample.add(&value, 1);
        }
      }
      EXPECT_NEAR(static_cast<double>(sample.estimate()), count, count > 2000 ? 0.15 * count : 0.0) << factor;
    }
  }
}

// Sizes of every number of bits, in full blocks and a partial one, can be read back at any time.
TEST(SetSizesTest, KeepsEverySize) {
  std::vector<uint32_t> sizes(64, 0);
  for (int bits = 0; bits <= 32; ++bits) {
    for (uint32_t i = 0; i < 64; ++i)
      sizes.push_back(static_cast<uint32_t>((uint64_t{1} << bits) - 1) - (bits > 6 ? i : 0));
  }
  for (const uint32_t size : {0u, 65534u, 1u, 4'000'000'000u, 7u}) sizes.push_back(size);
  MemoryCounter memory;
  SetSizes kept(memory);
  EXPECT_EQ(kept.largest(), 0u);
  for (size_t row = 0; row < sizes.size(); ++row) {
    kept.push_back(sizes[row]);
    ASSERT_EQ(kept[row], sizes[row]);
  }
  kept.shrink();
  ASSERT_EQ(kept.size(), sizes.size());
  for (size_t row = 0; row < sizes.size(); ++row) ASSERT_EQ(kept[row], sizes[row]) << row;
  EXPECT_EQ(kept.largest(), UINT32_MAX);
}

// Adds sets in slices of `together`, and one by one.
TEST(TokensOfSlices, AreThoseOfTheirSets) {
  std::mt19937 random(7);
  for (const uint32_t together : {1u, 2u, 7u, 500u}) {
    std::vector<int32_t> tokens;
    std::vector<uint32_t> lengths;
    for (uint32_t row = 0; row < 3000; ++row) {
      std::set<int32_t> set;
      while (set.size() < random() % 20) set.insert(static_cast<int32_t>(random()));
      tokens.insert(tokens.end(), set.begin(), set.end());
      // Of some sets, the last two tokens are equal or in no order.
      if (row % 97 == 0 && set.size() > 1) std::swap(tokens.back(), tokens[tokens.size() - 2]);
      if (row % 97 == 1 && set.size() > 1) tokens.back() = tokens[tokens.size() - 2];
      lengths.push_back(static_cast<uint32_t>(set.size()));
    }
    MemoryCounter memory;
    JoinTokens sliced_tokens(true, memory), single_tokens(true, memory);
    RawSets sliced[] = {RawSets(4096, memory), RawSets(4096, memory)};
    RawSets single[] = {RawSets(4096, memory), RawSets(4096, memory)};
    size_t begin = 0;
    for (size_t row = 0; row < lengths.size();) {
      const auto some = std::span<const uint32_t>(lengths).subspan(row).first(
          std::min<size_t>(together, lengths.size() - row));
      const size_t count = std::accumulate(some.begin(), some.end(), size_t{0});
      const auto set_tokens = std::span<const int32_t>(tokens).subspan(begin, count);
      sliced_tokens.add_rows(Side::left, set_tokens, some, sliced);
      row += some.size();
      begin += count;
    }
    begin = 0;
    for (const uint32_t length : lengths) {
      const auto set = std::span<const int32_t>(tokens).subspan(begin, length);
      single_tokens.add_row(Side::left, set, single, nullptr, 0);
      begin += length;
    }
    const auto expect_same = [](const RawSets &a, const RawSets &b) {
      ASSERT_EQ(a.rows(), b.rows());
      ASSERT_EQ(a.tokens(), b.tokens());
      for (size_t row = 0; row < a.rows(); ++row) ASSERT_EQ(a.sizes[row], b.sizes[row]) << row;
      ASSERT_EQ(a.blocks.size(), b.blocks.size());
      for (size_t i = 0; i < a.blocks.size(); ++i) {
        ASSERT_EQ(a.blocks[i].rows, b.blocks[i].rows);
        ASSERT_EQ(a.blocks[i].first_row, b.blocks[i].first_row);
        const std::span<const uint32_t> ids(a.blocks[i].ids.data(), a.blocks[i].tokens);
        EXPECT_TRUE(std::equal(ids.begin(), ids.end(), b.blocks[i].ids.begin())) << i;
      }
    };
    expect_same(sliced[0], single[0]);
    EXPECT_GT(sliced[0].blocks.size(), 3u);
    EXPECT_EQ(sliced_tokens.distinct_tokens(), single_tokens.distinct_tokens());
  }
}

TEST_P(TokenTest, SetSizesAreWithoutDuplicates) {
  const Input<int32_t> input{{{5, 5, 5}, {}, {1, 2, 1}}, {{3}, {4, 4, 3, 9, 9}}, false};
  const auto engine = make_cpu_engine(make_spec(GetParam(), Measure::jaccard, 0.1));
  feed(*engine, input);
  pull(*engine);
  EXPECT_EQ(engine->set_size(Side::left, 0), 1u);
  EXPECT_EQ(engine->set_size(Side::left, 1), 0u);
  EXPECT_EQ(engine->set_size(Side::left, 2), 2u);
  EXPECT_EQ(engine->set_size(Side::right, 0), 1u);
  EXPECT_EQ(engine->set_size(Side::right, 1), 3u);
}

// A session looks for interrupts between two sets. No set takes long even among millions of new tokens,
// because the tables that number them grow little by little.
class ManyTokensTest : public testing::Test {
 protected:
  static constexpr uint32_t sets = 40'000, set_tokens = 64;

  // Returns the time of the longest call of add(set).
  template <class Add>
  static std::chrono::nanoseconds longest_call(Add &&add) {
    std::chrono::nanoseconds longest{0};
    for (uint32_t set = 0; set < sets; ++set) longest = std::max(longest, time_of([&] { add(set); }));
    return longest;
  }

  // Expects that one of three runs has no long call. Each run returns its longest call, which other work of
  // the machine may sometimes lengthen.
  template <class Run>
  static void expect_short_calls(Run &&run) {
    constexpr std::chrono::milliseconds short_call{40};
    std::chrono::nanoseconds longest = run();
    for (int again = 0; again < 2 && longest >= short_call; ++again) longest = run();
    EXPECT_LT(longest, short_call);
  }
};

TEST_F(ManyTokensTest, TextsOfAJoin) {
  for (const int threads : {1, 3}) {
    expect_short_calls([&] {
      JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.5, threads);
      spec.self_join = true;
      const std::unique_ptr<JoinEngine> engine = make_cpu_engine(spec);
      std::vector<std::string> texts(set_tokens);
      std::vector<std::string_view> views(set_tokens);
      return longest_call([&](uint32_t set) {
        for (uint32_t i = 0; i < set_tokens; ++i) views[i] = texts[i] = std::to_string(set * set_tokens + i);
        add_set(*engine, Side::left, std::span<const std::string_view>(views));
      });
    });
  }
}

TEST_F(ManyTokensTest, IntegersOfAJoin) {
  expect_short_calls([] {
    MemoryCounter memory;
    IntegerInterner interner(true, true, memory);
    std::vector<int64_t> tokens(set_tokens);
    std::vector<uint32_t> ids(set_tokens);
    const auto longest = longest_call([&](uint32_t set) {
      for (uint32_t i = 0; i < set_tokens; ++i) tokens[i] = (int64_t{set} * set_tokens + i) << 24;
      EXPECT_EQ(interner.intern(Side::left, std::span<const int64_t>(tokens), ids.data()), set_tokens);
    });
    EXPECT_EQ(interner.ids(), sets * set_tokens);
    return longest;
  });
}

TEST_F(ManyTokensTest, TermsOfDocuments) {
  expect_short_calls([] {
    MemoryCounter memory;
    TermTable table(memory);
    return longest_call([&](uint32_t set) {
      for (uint32_t i = 0; i < set_tokens; ++i) {
        EXPECT_EQ(table.id_of(int64_t{set} * set_tokens + i), set * set_tokens + i);
      }
    });
  });
}

}  // namespace
}  // namespace simjoin::test
