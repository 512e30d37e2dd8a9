// Rows with equal sets, against a map of sorted sets.
#include "core/dedup/equal_rows.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace simjoin {
namespace {

template <typename Token>
class EqualRowsOf : public testing::Test {};
using Tokens = testing::Types<int32_t, int64_t, std::string_view>;
TYPED_TEST_SUITE(EqualRowsOf, Tokens);

TYPED_TEST(EqualRowsOf, SetsInAnyOrderWithRepeatedTokens) {
  using Token = TypeParam;
  constexpr int values = 6;
  std::vector<std::string> texts;
  for (int value = 0; value < values; ++value) texts.push_back(std::to_string(value * 7));
  std::mt19937 random(1);
  MemoryCounter memory;
  EqualRows rows(size_t{1} << 20, memory);
  std::map<std::set<int>, std::set<uint32_t>> expected;
  for (uint32_t row = 0; row < 1000; ++row) {
    std::vector<Token> tokens;
    std::set<int> set;
    for (uint32_t count = random() % 6; count > 0; --count) {
      const int value = static_cast<int>(random() % values);
      set.insert(value);
      if constexpr (std::is_same_v<Token, std::string_view>)
        tokens.push_back(texts[static_cast<size_t>(value)]);
      else
        tokens.push_back(value - 1);
    }
    rows.add(std::span<const Token>(tokens));
    expected[set].insert(row);
  }
  rows.finish(StopFlag());
  ASSERT_TRUE(rows.known());
  std::set<std::set<uint32_t>> groups, expected_groups;
  for (const auto &[set, members] : expected) expected_groups.insert(members);
  for (size_t begin = 0, end; begin < rows.size(); begin = end) {
    end = rows.end_of_equal(begin);
    std::set<uint32_t> members;
    for (size_t i = begin; i < end; ++i) members.insert(rows.row(i));
    groups.insert(members);
  }
  EXPECT_EQ(groups, expected_groups);
}

TEST(EqualRows, KnowNothingOfMoreRowsThanThereIsRoomFor) {
  MemoryCounter memory;
  EqualRows rows(1200, memory);
  const std::vector<int32_t> set = {1, 2};
  for (int row = 0; row < 100; ++row) rows.add(std::span<const int32_t>(set));
  EXPECT_TRUE(rows.known());
  EXPECT_EQ(rows.size(), 100U);
  rows.add(std::span<const int32_t>(set));
  EXPECT_FALSE(rows.known());
  rows.add(std::span<const int32_t>(set));
  rows.finish(StopFlag());
  EXPECT_EQ(rows.size(), 0U);
  EXPECT_EQ(memory.current(), 0U);
}

}  // namespace
}  // namespace simjoin
