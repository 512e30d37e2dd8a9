// The filter never loses a pair that is similar enough, and rules out sets that share too little.
#include "core/dedup/token_filter.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/weighted/exact_sum.hpp"

namespace simjoin::test {
namespace {

template <typename Token>
double similarity_of(Measure measure, const std::vector<Token> &a, const std::vector<Token> &b) {
  const std::set<Token> r(a.begin(), a.end()), s(b.begin(), b.end());
  const auto shared =
      std::count_if(r.begin(), r.end(), [&](const Token &token) { return s.contains(token); });
  return similarity(measure, shared, static_cast<int64_t>(r.size()), static_cast<int64_t>(s.size()));
}

// Sets of tokens below 12, some with repeated tokens.
std::vector<int32_t> any_set() {
  return *rc::gen::container<std::vector<int32_t>>(rc::gen::inRange(0, 12));
}

RC_GTEST_PROP(TokenFilter, LosesNoSimilarPair, ()) {
  const auto measure = *rc::gen::element(Measure::jaccard, Measure::cosine, Measure::dice, Measure::overlap,
                                         Measure::overlap_coefficient);
  const double threshold =
      measure == Measure::overlap ? *rc::gen::inRange(1, 6) : *rc::gen::inRange(1, 21) / 20.0;
  TokenFilter integers(measure, threshold), longs(measure, threshold), texts(measure, threshold);
  std::vector<std::vector<int32_t>> few;
  const auto as_longs = [](const std::vector<int32_t> &set) {
    return std::vector<int64_t>(set.begin(), set.end());
  };
  const auto as_texts = [](const std::vector<int32_t> &set) {
    std::vector<std::string> result;
    for (const int32_t token : set) result.push_back(std::to_string(token));
    return result;
  };
  const auto views = [](const std::vector<std::string> &set) {
    return std::vector<std::string_view>(set.begin(), set.end());
  };
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    few.push_back(any_set());
    integers.add(std::span<const int32_t>(few.back()));
    longs.add(std::span<const int64_t>(as_longs(few.back())));
    const std::vector<std::string> strings = as_texts(few.back());
    texts.add(std::span<const std::string_view>(views(strings)));
  }
  integers.finish();
  longs.finish();
  texts.finish();
  for (int i = 0; i < 10; ++i) {
    const std::vector<int32_t> set = any_set();
    const bool similar = std::any_of(few.begin(), few.end(), [&](const std::vector<int32_t> &other) {
      return similarity_of(measure, set, other) >= threshold;
    });
    if (!similar) continue;
    RC_ASSERT(integers.may_match(std::span<const int32_t>(set)));
    RC_ASSERT(longs.may_match(std::span<const int64_t>(as_longs(set))));
    const std::vector<std::string> strings = as_texts(set);
    RC_ASSERT(texts.may_match(std::span<const std::string_view>(views(strings))));
  }
}

TEST(TokenFilter, RulesOutMostOfWhatSharesTooLittle) {
  TokenFilter filter(Measure::jaccard, 0.5);
  for (int32_t set = 0; set < 100; ++set) {
    const int32_t tokens[] = {set * 3, set * 3 + 1, set * 3 + 2, set * 3 + 300'000};
    filter.add(std::span<const int32_t>(tokens));
  }
  filter.finish();
  int passed = 0;
  for (int32_t set = 0; set < 1000; ++set) {
    const int32_t half[] = {set % 100 * 3, 1'000'000 + set, 2'000'000 + set, 3'000'000 + set,
                            4'000'000 + set};
    passed += filter.may_match(std::span<const int32_t>(half));
    // Five of eight tokens are the same. Three shared tokens of four are enough.
    const int32_t repeated[] = {
        0, 1, 2, 5'000'000 + set, 5'000'000 + set, 5'000'000 + set, 5'000'000 + set, 5'000'000 + set};
    EXPECT_TRUE(filter.may_match(std::span<const int32_t>(repeated)));
  }
  EXPECT_LT(passed, 100);
  EXPECT_FALSE(filter.may_match(std::span<const int32_t>()));
}

// A set with weights: distinct tokens below 12, and weights of quarters, whose sums are exact.
struct Bag {
  std::vector<int32_t> tokens;
  std::vector<double> weights;
};

Bag any_bag() {
  const std::vector<int32_t> tokens = any_set();
  const std::set<int32_t> set(tokens.begin(), tokens.end());
  Bag bag = {{set.begin(), set.end()}, {}};
  for (size_t i = 0; i < set.size(); ++i) bag.weights.push_back(*rc::gen::inRange(0, 9) / 4.0);
  return bag;
}

double similarity_of(Measure measure, const Bag &a, const Bag &b) {
  double least = 0, most = 0, products = 0, a_squares = 0, b_squares = 0;
  for (int32_t token = 0; token < 12; ++token) {
    const auto weight_in = [token](const Bag &bag) {
      const auto place = std::find(bag.tokens.begin(), bag.tokens.end(), token);
      return place == bag.tokens.end() ? 0.0 : bag.weights[place - bag.tokens.begin()];
    };
    const double x = weight_in(a), y = weight_in(b);
    least += std::min(x, y);
    most += std::max(x, y);
    products += x * y;
    a_squares += x * x;
    b_squares += y * y;
  }
  return measure == Measure::cosine ? weighted_cosine(products, a_squares, b_squares)
                                    : weighted_jaccard(least, most);
}

// With `exact` the threshold is the similarity of a pair.
RC_GTEST_PROP(TokenFilter, LosesNoSimilarPairOfSetsWithWeights, (bool exact)) {
  const auto measure = *rc::gen::element(Measure::jaccard, Measure::cosine);
  std::vector<Bag> few(*rc::gen::inRange<size_t>(1, 4)), many(10);
  for (Bag &bag : few) bag = any_bag();
  for (Bag &bag : many) bag = any_bag();
  double threshold = *rc::gen::inRange(1, 21) / 20.0;
  if (exact && similarity_of(measure, few[0], many[0]) > 0)
    threshold = similarity_of(measure, few[0], many[0]);
  TokenFilter filter(measure, threshold);
  for (const Bag &bag : few) filter.add(std::span<const int32_t>(bag.tokens));
  filter.finish();
  for (const Bag &bag : many) {
    const bool similar = std::any_of(few.begin(), few.end(), [&](const Bag &other) {
      return similarity_of(measure, bag, other) >= threshold;
    });
    const std::span<const int32_t> tokens(bag.tokens);
    if (similar) RC_ASSERT(filter.may_match(tokens, std::span<const double>(bag.weights)));
  }
}

// A set whose weights are 9 of 10 on tokens that the filter does not know.
TEST(TokenFilter, RulesOutSetsThatShareTooLittleWeight) {
  const int32_t known[] = {1, 2, 3}, tokens[] = {1, 2, 3, 1'000'000};
  const double heavy[] = {1, 1, 1, 27}, light[] = {1, 1, 1, 1.4}, none[] = {0, 0, 0, 1};
  for (const Measure measure : {Measure::jaccard, Measure::cosine}) {
    TokenFilter filter(measure, 0.6);
    filter.add(std::span<const int32_t>(known));
    filter.finish();
    const std::span<const int32_t> set(tokens);
    EXPECT_FALSE(filter.may_match(set, std::span<const double>(heavy)));
    EXPECT_FALSE(filter.may_match(set, std::span<const double>(none)));
    EXPECT_TRUE(filter.may_match(set, std::span<const double>(light)));
    EXPECT_FALSE(filter.may_match(set.first(0), std::span<const double>()));
  }
}

}  // namespace
}  // namespace simjoin::test
