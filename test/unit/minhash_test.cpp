// MinHash: golden values fix the hash family, every instruction set gives the same bits, estimates have no
// bias, and bands collide as predicted.
#include "core/minhash/minhash.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "core/minhash/minhash_family.hpp"
#include "core/minhash/minhash_kernels.hpp"
#include "core/minhash/minhash_plan.hpp"
#include "core/minhash/minhash_signature.hpp"
#include "unit/on_target.hpp"

namespace simjoin::test {
namespace {

using Values = std::vector<uint32_t>;

std::vector<uint32_t> hashes_of(const std::vector<int64_t> &tokens) {
  std::vector<uint32_t> hashes;
  for (const int64_t token : tokens) hashes.push_back(token_hash(token_identity(token)));
  return hashes;
}

Values values_of(const std::vector<int64_t> &tokens, uint32_t permutations, uint64_t seed) {
  const MinHasher hasher(permutations, seed);
  Values values(permutations);
  hasher.start(values.data());
  const std::vector<uint32_t> hashes = hashes_of(tokens);
  hasher.add(hashes.data(), hashes.size(), values.data());
  return values;
}

std::vector<uint8_t> signature_of(const std::vector<int64_t> &tokens, uint32_t permutations, uint64_t seed,
                                  uint8_t bits) {
  const SignatureHeader header{SignatureFamily::minhash, tokens.empty(), bits,
                               static_cast<uint16_t>(permutations), seed};
  std::vector<uint8_t> signature(header.bytes());
  write_signature(header, values_of(tokens, permutations, seed).data(), signature.data());
  return signature;
}

// Two sets of the given sizes and overlap. Their tokens are consecutive numbers, which an unmixed linear hash
// function would not spread.
struct SetPair {
  std::vector<int64_t> left, right;
  double jaccard;
};
SetPair pair_of(int64_t size, int64_t shared, int64_t first) {
  SetPair pair;
  pair.left.resize(static_cast<size_t>(size));
  pair.right.resize(static_cast<size_t>(size));
  std::iota(pair.left.begin(), pair.left.end(), first);
  std::iota(pair.right.begin(), pair.right.end(), first + size - shared);
  pair.jaccard = static_cast<double>(shared) / static_cast<double>(2 * size - shared);
  return pair;
}

TEST(MinHashFamily, PhiloxGivesThePublishedAnswers) {
  const auto words = [](uint64_t key, std::array<uint32_t, 4> c) {
    const RandomWords random = random_words(key, c[0], c[1], c[2], static_cast<RandomUse>(c[3]));
    return std::vector<uint32_t>(random.word, random.word + 4);
  };
  EXPECT_EQ(words(0, {0, 0, 0, 0}), (std::vector<uint32_t>{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  EXPECT_EQ(words(~uint64_t{0}, {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}),
            (std::vector<uint32_t>{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}));
  EXPECT_EQ(words(0x299F31D0A4093822u, {0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}),
            (std::vector<uint32_t>{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}));
}

TEST(MinHashFamily, PermutedIsTheLowHalfOfTheRemainder) {
  std::mt19937_64 random(1);
  const std::vector<uint64_t> extremes = {
      0, 1, 2, UINT32_MAX, uint64_t{1} << 32, (uint64_t{1} << 32) + 1, mersenne61 - 2, mersenne61 - 1};
  const std::vector<uint32_t> hashes = {0, 1, 2, 0x7FFFFFFF, 0x80000000, UINT32_MAX - 1, UINT32_MAX};
  const auto check = [](uint64_t a, uint64_t b, uint32_t hash) {
    __extension__ using Wide = unsigned __int128;
    const auto expected = static_cast<uint64_t>((Wide{a} * hash + b) % mersenne61);
    ASSERT_EQ(permuted({a, b}, hash), static_cast<uint32_t>(expected)) << a << ' ' << b << ' ' << hash;
  };
  for (const uint64_t a : extremes)
    for (const uint64_t b : extremes)
      for (const uint32_t hash : hashes) check(a, b, hash);
  for (int i = 0; i < 100'000; ++i)
    check(random() % mersenne61, random() % mersenne61, static_cast<uint32_t>(random()));
  // Sums that reach the modulus exactly: b = -a h.
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t a = random() % mersenne61;
    const auto hash = static_cast<uint32_t>(random());
    __extension__ using Wide = unsigned __int128;
    check(a, (mersenne61 - static_cast<uint64_t>(Wide{a} * hash % mersenne61)) % mersenne61, hash);
  }
}

// Stored signatures depend on these numbers, so they must never change.
TEST(MinHashFamily, GoldenValues) {
  EXPECT_EQ(token_identity(int64_t{-1}), UINT64_MAX);
  EXPECT_EQ(token_hash(token_identity(int64_t{1})), 0x5692161Du);
  EXPECT_EQ(token_hash(token_identity(std::string_view("token"))), 0x14847D65u);
  EXPECT_EQ(permutation_at(1, 0).a, 0x1E047488127BEE42u);
  EXPECT_EQ(permutation_at(1, 0).b, 0x0A39349648842B20u);
  EXPECT_EQ(values_of({1, 2, 3}, 4, 1), (Values{0x0213D3E3, 0x3E8027E7, 0x01EAEC86, 0x661CE253}));
  EXPECT_EQ(values_of({-5, 1'000'000'000'000}, 3, ~uint64_t{0}),
            (Values{0x60570D81, 0x82DF7473, 0x08A9CDA9}));
  SignatureHeader header;
  header.seed = 1;
  const Values values = values_of({1, 2, 3}, 4, 1);
  EXPECT_EQ(band_hash(header, 0, values.data(), 2), 0xB455FC3FBBDE15EDu);
  EXPECT_EQ(band_hash(header, 1, values.data() + 2, 1), 0xD7B44551EF1446D9u);
}

class MinHashTargets : public testing::TestWithParam<int64_t> {
 private:
  OnTarget target_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Every, MinHashTargets, testing::ValuesIn(all_targets()),
                         [](const auto &info) { return std::string(hwy::TargetName(info.param)); });

TEST_P(MinHashTargets, EqualsTheDefinition) {
  std::mt19937_64 random(2);
  for (const uint32_t permutations : {1u, 2u, 15u, 16u, 17u, 31u, 128u, 333u}) {
    const MinHasher hasher(permutations, random());
    for (const size_t count : {0, 1, 2, 33, 500}) {
      std::vector<uint32_t> hashes(count);
      for (uint32_t &hash : hashes) hash = static_cast<uint32_t>(random());
      if (count > 2) hashes[0] = 0, hashes[1] = UINT32_MAX;
      Values values(permutations), expected(permutations);
      hasher.start(values.data());
      hasher.start(expected.data());
      hasher.add(hashes.data(), count, values.data());
      hasher.add_by_definition(hashes.data(), count, expected.data());
      ASSERT_EQ(values, expected) << permutations << " permutations of " << count << " hashes";
    }
  }
}

// The padding of a group that is not full must not make the group's values doubtful: the plain loop would
// have to make them.
TEST_P(MinHashTargets, ValuesOfGroupsWithPaddingAreCertain) {
  std::mt19937_64 random(9);
  for (const uint32_t permutations : {1u, 16u, 31u, 91u}) {
    const PermutationTable table(permutations_of(random(), permutations), permutation_block);
    int doubtful = 0;
    for (int trial = 0; trial < 100; ++trial) {
      std::vector<uint32_t> hashes(50);
      for (uint32_t &hash : hashes) hash = static_cast<uint32_t>(random());
      std::vector<uint32_t> least(permutation_block, UINT32_MAX);
      if (!lower_values(table, table.groups() - 1, hashes.data(), hashes.size(), least.data())) ++doubtful;
    }
    EXPECT_LE(doubtful, 3) << permutations;
  }
}

// Values whose residue is within 2^32 of the modulus. The vectorised loop has to correct them.
TEST_P(MinHashTargets, ResiduesNextToTheModulusAreExact) {
  std::mt19937_64 random(6);
  constexpr size_t count = 40;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<uint32_t> hashes(1 + random() % 12);
    for (uint32_t &hash : hashes) hash = static_cast<uint32_t>(random());
    std::vector<Permutation> permutations(count);
    for (size_t p = 0; p < count; ++p) {
      const uint64_t a = 1 + random() % (mersenne61 - 1);
      // Small values, so that these are the least: b = residue - a h.
      const std::vector<uint64_t> residues = {mersenne61 - (uint64_t{1} << 32) + random() % 3,
                                              mersenne61 - (uint64_t{1} << 32) + random() % 100'000,
                                              mersenne61 - 1 - random() % 3, random() % 3};
      const uint64_t product = residue({a, 0}, hashes[random() % hashes.size()]);
      permutations[p] = {a, (residues[p % residues.size()] + mersenne61 - product) % mersenne61};
    }
    const MinHasher hasher(permutations);
    Values values(count), expected(count);
    hasher.start(values.data());
    hasher.start(expected.data());
    hasher.add(hashes.data(), hashes.size(), values.data());
    hasher.add_by_definition(hashes.data(), hashes.size(), expected.data());
    ASSERT_EQ(values, expected);
    // A correction needs the token, not just a value that could be one.
    hasher.start(values.data());
    hasher.start(expected.data());
    for (uint32_t &hash : hashes) {
      hasher.add(&hash, 1, values.data());
      hasher.add_by_definition(&hash, 1, expected.data());
    }
    ASSERT_EQ(values, expected);
  }
}

TEST(MinHashTable, HoldsEveryPermutationOnce) {
  std::mt19937_64 random(8);
  for (const size_t group : {1, 2, 4, 16}) {
    for (const size_t count : {1, 2, 3, 16, 17, 333}) {
      std::vector<Permutation> permutations(count);
      // Many that fit in one form only.
      for (Permutation &permutation : permutations) {
        const uint64_t low = random() % 3 == 0 ? random() % 100 : UINT32_MAX - random() % 100;
        permutation = {(random() % (1u << 29)) << 32 | (low + 1) % UINT32_MAX, random() % mersenne61};
        if (permutation.a == 0) permutation.a = 1;
      }
      const PermutationTable table(permutations, group);
      ASSERT_EQ(table.size(), table.groups() * group);
      std::vector<int> seen(count, 0);
      for (size_t i = 0; i < table.size(); ++i) {
        if (table.numbers()[i] == PermutationTable::padding) continue;
        ++seen[table.numbers()[i]];
        const Permutation &permutation = permutations[table.numbers()[i]];
        for (const uint32_t hash : {0u, 1u, static_cast<uint32_t>(random()), UINT32_MAX}) {
          const uint32_t upper =
              upper_value(static_cast<uint32_t>(table.a_low()[i]), static_cast<uint32_t>(table.a_high()[i]),
                          table.b()[i], hash ^ table.flips()[i / group]);
          EXPECT_EQ(corrected_value(table.inverse(i), upper, &hash, 1), permuted(permutation, hash));
        }
      }
      EXPECT_EQ(seen, std::vector<int>(count, 1));
    }
  }
}

TEST(MinHash, PartsOrderAndRepetitionDoNotMatter) {
  const MinHasher hasher(100, 7);
  std::vector<uint32_t> hashes = hashes_of({5, 1, 4, -3, 1'000'000, 9, 77});
  Values whole(100), parts(100);
  hasher.start(whole.data());
  hasher.add(hashes.data(), hashes.size(), whole.data());
  hasher.start(parts.data());
  std::reverse(hashes.begin(), hashes.end());
  hasher.add(hashes.data(), 4, parts.data());
  hasher.add(hashes.data() + 2, 5, parts.data());
  EXPECT_EQ(parts, whole);
}

TEST(MinHash, FewerPermutationsAreTheFirstOfMore) {
  const Values many = values_of({1, 5, 9}, 70, 3), few = values_of({1, 5, 9}, 9, 3);
  EXPECT_EQ(few, Values(many.begin(), many.begin() + 9));
  EXPECT_NE(values_of({1, 5, 9}, 9, 4), few);
}

// The mean of the estimates over many pairs of a known similarity, and their variance around it.
struct Errors {
  double mean = 0;      // of (estimate - similarity), in standard errors
  double variance = 0;  // by that of a binomial share
};
Errors errors_of(int64_t size, int64_t shared, uint8_t bits, int pairs) {
  constexpr uint32_t permutations = 128;
  double sum = 0, squares = 0, jaccard = 0;
  for (int i = 0; i < pairs; ++i) {
    const SetPair pair = pair_of(size, shared, i * 3 * size);
    const auto seed = static_cast<uint64_t>(i);
    const auto left = signature_of(pair.left, permutations, seed, bits);
    const auto right = signature_of(pair.right, permutations, seed, bits);
    const double error =
        estimated_similarity(read_header(left.data()), common_values(left.data(), right.data())) -
        pair.jaccard;
    jaccard = pair.jaccard;
    sum += error;
    squares += error * error;
  }
  const double chance = bits == full_bits ? 0 : std::ldexp(1, -bits);
  const double share = jaccard + (1 - jaccard) * chance;
  const double variance = share * (1 - share) / permutations / ((1 - chance) * (1 - chance));
  return {sum / pairs / std::sqrt(variance / pairs), squares / pairs / variance};
}

TEST(MinHash, EstimatesAreUnbiasedAndAsPreciseAsIndependentDraws) {
  for (const int64_t shared : {20, 40, 54, 59}) {
    const Errors errors = errors_of(60, shared, full_bits, 2000);
    EXPECT_LT(std::abs(errors.mean), 4) << shared << " of 60 shared";
    EXPECT_NEAR(errors.variance, 1, 4 * std::sqrt(2.0 / 2000)) << shared << " of 60 shared";
  }
}

TEST(MinHash, TruncatedEstimatesAreCorrectedForChance) {
  for (const uint8_t bits : {1, 2, 4, 7, 16}) {
    const Errors errors = errors_of(60, 40, bits, 2000);
    EXPECT_LT(std::abs(errors.mean), 4) << int{bits} << " bits";
    EXPECT_NEAR(errors.variance, 1, 4 * std::sqrt(2.0 / 2000)) << int{bits} << " bits";
  }
}

TEST(MinHash, BandsCollideAlongTheCurve) {
  constexpr uint32_t bands = 9, rows = 3, trials = 10'000;
  for (const int64_t shared : {15, 30, 45, 55}) {
    int candidates = 0;
    std::vector<int> collisions(bands, 0);
    double jaccard = 0;
    for (uint32_t trial = 0; trial < trials; ++trial) {
      const SetPair pair = pair_of(60, shared, trial * 180);
      jaccard = pair.jaccard;
      SignatureHeader header;
      header.seed = trial;
      const Values left = values_of(pair.left, bands * rows, trial);
      const Values right = values_of(pair.right, bands * rows, trial);
      bool any = false;
      for (uint32_t band = 0; band < bands; ++band) {
        const bool equal = band_hash(header, band, left.data() + band * rows, rows) ==
                           band_hash(header, band, right.data() + band * rows, rows);
        collisions[band] += equal;
        any |= equal;
      }
      candidates += any;
    }
    const auto expect_rate = [&](int count, double rate) {
      EXPECT_NEAR(static_cast<double>(count) / trials, rate, 4 * std::sqrt(rate * (1 - rate) / trials) + 1e-9)
          << "similarity " << jaccard;
    };
    expect_rate(candidates, candidate_probability({bands, rows}, jaccard));
    for (const int count : collisions) expect_rate(count, std::pow(jaccard, rows));
  }
}

TEST(MinHashPlan, IsThatOfDatasketch) {
  const auto plan = [](double threshold) {
    const BandPlan best = best_band_plan(threshold, 128);
    return std::pair(best.bands, best.rows);
  };
  EXPECT_EQ(plan(0.5), std::pair(25u, 5u));
  EXPECT_EQ(plan(0.6), std::pair(18u, 7u));
  EXPECT_EQ(plan(0.7), std::pair(14u, 9u));
  EXPECT_EQ(plan(0.8), std::pair(9u, 13u));
  EXPECT_EQ(plan(0.9), std::pair(5u, 25u));
}

TEST(MinHashPlan, FitsItsPermutations) {
  for (const uint32_t permutations : {1u, 2u, 3u, 7u, 300u, 5000u}) {
    for (const double threshold : {0.001, 0.2, 0.85, 0.999, 1.0}) {
      const BandPlan best = best_band_plan(threshold, permutations);
      EXPECT_GE(best.bands, 1u);
      EXPECT_GE(best.rows, 1u);
      EXPECT_LE(uint64_t{best.bands} * best.rows, permutations);
      EXPECT_GE(false_positive_rate(best, threshold), 0);
      EXPECT_LE(false_positive_rate(best, threshold), candidate_probability(best, threshold));
    }
  }
}

TEST(Signature, KeepsTheLowBitsOfItsValues) {
  std::mt19937_64 random(3);
  for (uint8_t bits = 1; bits <= 32; ++bits) {
    for (const uint16_t permutations : {1, 2, 7, 8, 9, 257, 1000}) {
      Values values(permutations);
      for (uint32_t &value : values) value = static_cast<uint32_t>(random());
      const SignatureHeader header{SignatureFamily::weighted, false, bits, permutations, random()};
      std::vector<uint8_t> signature(header.bytes());
      write_signature(header, values.data(), signature.data());
      ASSERT_EQ(signature_flaw(signature), nullptr);
      EXPECT_TRUE(read_header(signature.data()).comparable(header));
      Values read(permutations);
      read_values(signature.data(), 0, permutations, read.data());
      for (uint32_t &value : values) value &= static_cast<uint32_t>((uint64_t{1} << bits) - 1);
      ASSERT_EQ(read, values) << int{bits} << " bits, " << permutations << " values";
    }
  }
}

TEST(Signature, FlawsAreFound) {
  const std::vector<uint8_t> good = signature_of({1, 2, 3}, 5, 1, 3);
  ASSERT_EQ(signature_flaw(good), nullptr);
  const auto flawed = [&](size_t byte, uint8_t value) {
    std::vector<uint8_t> bad = good;
    bad[byte] = value;
    return signature_flaw(bad) != nullptr;
  };
  EXPECT_TRUE(flawed(0, 2));  // version
  EXPECT_TRUE(flawed(1, 0));  // family
  EXPECT_TRUE(flawed(1, 3));
  EXPECT_TRUE(flawed(2, 0));  // bits
  EXPECT_TRUE(flawed(2, 33));
  EXPECT_TRUE(flawed(2, 5));  // other length
  EXPECT_TRUE(flawed(3, 1));  // empty, with values
  EXPECT_TRUE(flawed(3, 2));
  EXPECT_TRUE(flawed(4, 0));  // permutations
  EXPECT_TRUE(flawed(6, 1));
  EXPECT_TRUE(flawed(7, 1));
  EXPECT_TRUE(flawed(17, 0x80));  // 15 bits are used
  EXPECT_FALSE(flawed(17, 0x7F));
  EXPECT_FALSE(flawed(8, 9));  // another seed
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(signature_flaw(std::span(good.data(), size)), nullptr);
  EXPECT_EQ(signature_flaw(signature_of({}, 5, 1, 3)), nullptr);
}

TEST(Signature, OfAnEmptySetIsSimilarToNothing) {
  const auto empty = signature_of({}, 16, 1, 32), set = signature_of({1}, 16, 1, 32);
  EXPECT_EQ(empty.size(), signature_header_bytes);
  EXPECT_EQ(common_values(empty.data(), empty.data()), 0u);
  EXPECT_EQ(common_values(empty.data(), set.data()), 0u);
  EXPECT_EQ(common_values(set.data(), empty.data()), 0u);
  EXPECT_EQ(common_values(set.data(), set.data()), 16u);
}

}  // namespace
}  // namespace simjoin::test
