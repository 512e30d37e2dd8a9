// Frequent tokens come back from their bytes, in the order of their frequency, and damaged bytes are refused.
#include "core/lookup/frequent_tokens.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/mix.hpp"
#include "core/lookup/token_order.hpp"

namespace simjoin::test {
namespace {

uint32_t print_of(int32_t code) {
  return static_cast<uint32_t>(code) >> (32 - token_print_bits);
}

std::vector<int32_t> codes_of(size_t count) {
  std::vector<int32_t> codes;
  for (size_t i = 0; i < count; ++i) codes.push_back(static_cast<int32_t>(mix_bits(i)));
  return codes;
}

RC_GTEST_PROP(FrequentTokens, ComeBack, ()) {
  const auto codes = *rc::gen::container<std::vector<int32_t>>(rc::gen::arbitrary<int32_t>());
  const auto tokens = decode_frequent_tokens(encode_frequent_tokens(codes));
  RC_ASSERT(tokens.has_value());
  std::set<uint32_t> expected, found;
  for (const int32_t code : codes) expected.insert(print_of(code));
  for (const FrequentToken &token : *tokens) found.insert(token.print);
  RC_ASSERT(found == expected);
}

TEST(FrequentTokens, MoreFrequentOnesHaveLaterPlaces) {
  const std::vector<int32_t> codes = codes_of(most_stored_tokens + 100);
  const auto tokens = decode_frequent_tokens(encode_frequent_tokens(codes));
  ASSERT_TRUE(tokens.has_value());
  std::map<uint32_t, uint32_t> places;
  for (const FrequentToken &token : *tokens) places[token.print] = std::max(places[token.print], token.place);
  for (size_t i = 0; i < most_stored_tokens; ++i) {
    ASSERT_TRUE(places.contains(print_of(codes[i]))) << i;
    EXPECT_GE(places[print_of(codes[i])], 1u);
  }
  EXPECT_GT(places[print_of(codes[0])], places[print_of(codes[100])]);
  EXPECT_GT(places[print_of(codes[100])], places[print_of(codes[4000])]);
  EXPECT_FALSE(places.contains(print_of(codes[most_stored_tokens + 50])));
}

// A parameter of an index has to fit into a row of a catalog: 8,160 bytes, in base 64.
TEST(FrequentTokens, TakeFewBytes) {
  EXPECT_LT(encode_frequent_tokens(codes_of(most_stored_tokens)).size() * 4 / 3, 7500u);
}

TEST(FrequentTokens, ChosenTokensCannotBeCompressed) {
  std::vector<int32_t> codes;
  for (uint32_t i = 0; i < 4000; ++i)
    codes.push_back(static_cast<int32_t>(i * 64 << (32 - token_print_bits)));
  const std::string bytes = encode_frequent_tokens(codes);
  std::set<std::string> parts;
  for (size_t i = 0; i + 4 <= bytes.size(); ++i) parts.insert(bytes.substr(i, 4));
  EXPECT_GT(parts.size(), bytes.size() * 99 / 100);
}

RC_GTEST_PROP(FrequentTokens, DamagedBytesAreRefusedOrRead, (const std::string &bytes)) {
  const auto tokens = decode_frequent_tokens(bytes);
  if (!tokens.has_value()) return;
  for (const FrequentToken &token : *tokens) {
    RC_ASSERT(token.print < uint32_t{1} << token_print_bits);
    RC_ASSERT(token.place >= 1u);
  }
}

TEST(FrequentTokens, EndsAreChecked) {
  const std::string bytes = encode_frequent_tokens(codes_of(200));
  for (size_t length = 0; length < bytes.size(); ++length) {
    const auto tokens = decode_frequent_tokens(std::string_view(bytes).substr(0, length));
    EXPECT_TRUE(!tokens.has_value() || tokens->size() < 200);
  }
  EXPECT_FALSE(decode_frequent_tokens(std::string(1000, '\xff')).has_value());
  EXPECT_FALSE(decode_frequent_tokens(bytes + std::string(2, '\0')).has_value());
}

TEST(TokenOrder, ByPrintsRareTokensComeFirst) {
  const Bounds bounds(Measure::jaccard, 0.5);
  TokenOrder alone({}, bounds);
  const std::vector<int32_t> set = {1, 2, 3, 4};
  const auto code = [&](int32_t token) {
    TokenKey key;
    alone.keys_of(std::span<const int32_t>(&token, 1), &key);
    return code_of_key(key);
  };
  const FrequentToken frequent[] = {{print_of(code(2)), 1}, {print_of(code(4)), 2}};
  TokenOrder order = TokenOrder::by_prints(frequent, Bounds(Measure::overlap, 1));
  TokenKey keys[4];
  order.keys_of(std::span<const int32_t>(set), keys);
  EXPECT_EQ(order.prefix_length(4), 4);
  std::sort(keys, keys + 4);
  EXPECT_EQ(code_of_key(keys[2]), code(2));
  EXPECT_EQ(code_of_key(keys[3]), code(4));
}

}  // namespace
}  // namespace simjoin::test
