// Weighted MinHash: the same bits on every instruction set, and samples that collide with the probability of
// the weighted Jaccard similarity.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>

#include "core/minhash/minhash_signature.hpp"
#include "core/minhash/weighted_minhash.hpp"
#include "core/minhash/weighted_minhash_kernels.hpp"
#include "unit/on_target.hpp"

namespace simjoin::test {
namespace {

using Tokens = std::vector<WeightedToken>;

Tokens normalized(Tokens tokens) {
  std::sort(tokens.begin(), tokens.end());
  tokens.resize(combine_equal(tokens.data(), tokens.size()));
  return tokens;
}

WeightedSamples samples_of(const Tokens &tokens, uint32_t count, uint64_t seed) {
  const Tokens normal = normalized(tokens);
  WeightedSamples samples;
  samples.start(count);
  add_weighted(normal.data(), normal.size(), seed, samples);
  return samples;
}

std::vector<uint32_t> values_of(const Tokens &tokens, uint32_t count, uint64_t seed) {
  std::vector<uint32_t> values(count);
  samples_of(tokens, count, seed).write_values(values.data());
  return values;
}

double weighted_jaccard(const Tokens &a, const Tokens &b) {
  std::map<uint64_t, std::pair<double, double>> weights;
  for (const WeightedToken &token : a) weights[token.identity].first += token.weight;
  for (const WeightedToken &token : b) weights[token.identity].second += token.weight;
  double least = 0, most = 0;
  for (const auto &[identity, pair] : weights) {
    least += std::min(pair.first, pair.second);
    most += std::max(pair.first, pair.second);
  }
  return least / most;
}

bool same(const WeightedSamples &a, const WeightedSamples &b) {
  return a.least == b.least && a.token == b.token && a.t == b.t;
}

TEST(WeightedMinHash, LogarithmIsThatOfTheLibrary) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const double weight =
        std::ldexp(1 + static_cast<double>(random() >> 11) * 0x1p-53, static_cast<int>(random() % 277) - 149);
    const double expected = std::log(weight);
    ASSERT_NEAR(log_of_weight(weight), expected, 4e-7 * (1 + std::abs(expected))) << weight;
    const auto single = static_cast<float>(weight);
    if (single >= 0x1p-126f && std::isfinite(single)) {
      ASSERT_NEAR(log_of(single), std::log(static_cast<double>(single)), 4e-7 * (1 + std::abs(expected)))
          << single;
    }
  }
  // Near 1 the error must be small compared with the logarithm itself.
  for (const float x : {1 - 0x1p-23f, 1 - 0x1p-20f, 1 - 0x1p-10f, 1 + 0x1p-20f})
    EXPECT_NEAR(log_of(x) / std::log(static_cast<double>(x)), 1, 1e-6) << x;
  EXPECT_EQ(log_of(1.0f), 0);
  EXPECT_EQ(log_of_weight(1.0), 0);
}

// Stored signatures depend on these numbers, so they must never change.
TEST(WeightedMinHash, GoldenValues) {
  const WeightedSamples samples = samples_of({{1, 0.5}, {2, 3}, {UINT64_MAX, 1e-3}}, 4, 1);
  EXPECT_EQ(samples.token, (std::vector<uint64_t>{2, 2, 2, 2}));
  EXPECT_EQ(samples.t, (std::vector<int32_t>{0, 4, 1, 1}));
  EXPECT_EQ(values_of({{1, 0.5}, {2, 3}, {UINT64_MAX, 1e-3}}, 4, 1),
            (std::vector<uint32_t>{0x52EAD7E3, 0x2796B440, 0x59A1F5A0, 0x2119D3FC}));
}

class WeightedTargets : public testing::TestWithParam<int64_t> {
 private:
  OnTarget target_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Every, WeightedTargets, testing::ValuesIn(all_targets()),
                         [](const auto &info) { return std::string(hwy::TargetName(info.param)); });

TEST_P(WeightedTargets, EqualsTheDefinition) {
  std::mt19937_64 random(2);
  for (const uint32_t count : {1u, 3u, 15u, 16u, 17u, 128u, 333u}) {
    Tokens tokens;
    for (int i = 0; i < 60; ++i)
      tokens.push_back({random(), std::ldexp(1.0 + static_cast<double>(random() % 1000),
                                             static_cast<int>(random() % 270) - 149)});
    const Tokens normal = normalized(tokens);
    WeightedSamples expected;
    expected.start(count);
    const uint64_t seed = random();
    add_weighted_by_definition(normal.data(), normal.size(), seed, expected);
    EXPECT_TRUE(same(samples_of(tokens, count, seed), expected)) << count << " samples";
  }
}

TEST(WeightedMinHash, OrderPartsAndZerosDoNotMatterAndRepetitionsAddUp) {
  const Tokens tokens = {{5, 1}, {9, 0.25}, {2, 7}, {100, 3}};
  const std::vector<uint32_t> values = values_of(tokens, 64, 3);
  EXPECT_EQ(values_of({{9, 0.25}, {100, 3}, {5, 1}, {2, 7}}, 64, 3), values);
  EXPECT_EQ(values_of({{5, 1}, {9, 0.125}, {2, 7}, {100, 2}, {77, 0}, {9, 0.125}, {100, 1}}, 64, 3), values);
  EXPECT_NE(values_of({{5, 1}, {9, 0.25}, {2, 7}}, 64, 3), values);
  const Tokens normal = normalized(tokens);
  WeightedSamples parts;
  parts.start(64);
  add_weighted(normal.data(), 1, 3, parts);
  add_weighted(normal.data() + 1, 3, 3, parts);
  EXPECT_TRUE(same(parts, samples_of(tokens, 64, 3)));
  EXPECT_TRUE(normalized({{4, 0}, {5, 0}}).empty());
}

// Consistency: a token that is picked stays picked, with the same t, when others become lighter.
TEST(WeightedMinHash, LighterCompetitorsChangeNothing) {
  const Tokens heavy = {{1, 2}, {2, 5}, {3, 1}};
  const WeightedSamples before = samples_of(heavy, 500, 9);
  for (const uint64_t lighter : {1, 2, 3}) {
    Tokens light = heavy;
    light[lighter - 1].weight *= 0.3;
    const WeightedSamples after = samples_of(light, 500, 9);
    for (size_t i = 0; i < 500; ++i) {
      if (before.token[i] == lighter) continue;
      EXPECT_EQ(after.token[i], before.token[i]);
      EXPECT_EQ(after.t[i], before.t[i]);
    }
  }
}

// A device gets such weights unchanged, and takes their logarithms itself.
TEST(WeightedMinHash, LogarithmsOfSinglePrecisionWeightsNeedNoDouble) {
  std::mt19937_64 random(6);
  const auto check = [](float weight) {
    const float expected = log_of_weight(static_cast<double>(weight)), found = log_of(weight);
    ASSERT_EQ(found, expected) << weight;
  };
  for (const float weight : {1.0f, std::numeric_limits<float>::min(), std::numeric_limits<float>::max()})
    check(weight);
  // Around the places where the exponent changes.
  for (float weight = 0.70710600f; weight < 0.70710800f; weight = std::nextafter(weight, 1.0f)) {
    check(weight);
    check(weight * 1048576);
  }
  for (int i = 0; i < 100'000; ++i)
    check(std::ldexp(1 + static_cast<float>(random() % (1u << 23)) * 0x1p-23f,
                     static_cast<int>(random() % 250) - 125));
}

// A token is picked with a probability equal to its share of the weight.
TEST(WeightedMinHash, TokensArePickedByWeight) {
  constexpr uint32_t count = 20'000;
  const Tokens tokens = {{11, 1}, {12, 2}, {13, 4}, {14, 0.5}, {15, 2.5}};
  const WeightedSamples samples = samples_of(tokens, count, 4);
  for (const WeightedToken &token : tokens) {
    const double share = token.weight / 10;
    const auto picked =
        static_cast<double>(std::count(samples.token.begin(), samples.token.end(), token.identity));
    EXPECT_NEAR(picked / count, share, 4 * std::sqrt(share * (1 - share) / count)) << token.identity;
  }
}

// The share of values that are equal by chance is that of independent draws, whatever the tokens, even if
// each sample of a set is the same (token, t).
TEST(WeightedMinHash, TruncatedValuesOfDifferentTokensAreEqualByChanceOnly) {
  constexpr uint32_t count = 1000;
  for (const uint32_t bits : {1, 3, 8}) {
    const double chance = std::pow(0.5, bits);
    for (uint64_t token = 1; token <= 20; ++token) {
      const std::vector<uint32_t> a = values_of({{0, 1}}, count, 1), b = values_of({{token, 1}}, count, 1);
      double equal = 0;
      for (uint32_t i = 0; i < count; ++i) equal += (a[i] ^ b[i]) % (1u << bits) == 0;
      EXPECT_NEAR(equal / count, chance, 5 * std::sqrt(chance * (1 - chance) / count)) << bits << " bits";
    }
  }
}

// The errors of many estimates, compared with those of independent draws.
struct Errors {
  void add(double error, double variance) {
    sum += error;
    variances += variance;
    squares += error * error / variance;
    ++count;
  }
  void expect_unbiased_and_precise(const std::string &what) const {
    EXPECT_LT(std::abs(sum) / std::sqrt(variances), 4) << what;
    EXPECT_NEAR(squares / count, 1, 5 * std::sqrt(2.0 / count)) << what;
  }

  double sum = 0, variances = 0, squares = 0;
  int count = 0;
};

// Full values and truncated ones. Estimates of the latter are corrected for values that are equal by chance.
TEST(WeightedMinHash, EstimatesAreUnbiasedAndAsPreciseAsIndependentDraws) {
  constexpr uint16_t count = 128;
  for (const double spread : {0.05, 0.5, 2.0}) {
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal;
    std::map<uint8_t, Errors> errors;
    for (uint64_t i = 0; i < 400; ++i) {
      Tokens left, right;
      for (uint64_t token = 0; token < 30; ++token) {
        const double weight = std::exp(2 * normal(random));
        if (random() % 10 != 0) left.push_back({token, weight});
        if (random() % 10 != 0) right.push_back({token, weight * std::exp(spread * normal(random))});
      }
      const double expected = weighted_jaccard(left, right);
      const std::vector<uint32_t> a = values_of(left, count, i), b = values_of(right, count, i);
      for (const uint8_t bits : {1, 2, 8, 32}) {
        const SignatureHeader header{SignatureFamily::weighted, false, bits, count, i};
        std::vector<uint8_t> signature_a(header.bytes()), signature_b(header.bytes());
        write_signature(header, a.data(), signature_a.data());
        write_signature(header, b.data(), signature_b.data());
        const double estimate =
            estimated_similarity(header, common_values(signature_a.data(), signature_b.data()));
        const double chance = std::pow(0.5, bits), equal = expected + (1 - expected) * chance;
        errors[bits].add(estimate - expected, equal * (1 - equal) / count / ((1 - chance) * (1 - chance)));
      }
    }
    for (const auto &[bits, found] : errors)
      found.expect_unbiased_and_precise(std::to_string(bits) + " bits, spread " + std::to_string(spread));
  }
}

}  // namespace
}  // namespace simjoin::test
