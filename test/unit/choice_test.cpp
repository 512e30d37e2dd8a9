// The choices among generators of candidates, layouts of bitmaps and devices: their results, that each
// changes only once as the input grows, and that no cost has the wrong sign.
#include "core/choice/choose.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "core/base/costs.hpp"
#include "core/choice/choose_layout.hpp"
#include "core/choice/pair_sample.hpp"
#include "core/device/device_costs.hpp"
#include "core/minhash/minhash_bulk.hpp"

namespace simjoin::test {
namespace {

// Sets of `least` to `most` tokens drawn evenly from `ranks` ranks, as the engine orders them.
SetCollection even_sets(uint32_t count, uint32_t least, uint32_t most, uint32_t ranks,
                        MemoryCounter &memory) {
  std::mt19937_64 random(ranks);
  SetCollection sets(memory);
  sets.ranks = ranks;
  sets.starts.push_back(0);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t size = least + static_cast<uint32_t>(uint64_t{most - least + 1} * i / count);
    if (sets.classes.empty() || sets.classes.back().size != size) sets.classes.push_back({size, i, i});
    sets.classes.back().end = i + 1;
    std::vector<uint32_t> set;
    while (set.size() < size) {
      for (size_t missing = size - set.size(); missing > 0; --missing)
        set.push_back(static_cast<uint32_t>(random() % ranks));
      std::sort(set.begin(), set.end());
      set.erase(std::unique(set.begin(), set.end()), set.end());
    }
    for (const uint32_t rank : set) sets.tokens.push_back(rank);
    sets.starts.push_back(sets.tokens.size());
    sets.rows.push_back(i);
  }
  return sets;
}

struct Choice : testing::Test {
  // Returns the fraction of the probe classes that go through bitmaps.
  double through_bitmaps(const SetCollection &sets, double threshold) {
    const JoinProblem problem(Bounds(Measure::jaccard, threshold), sets, sets);
    const GeneratorPlan plan = choose_generators(problem, pool, memory);
    return static_cast<double>(std::count(plan.use_bitmap.begin(), plan.use_bitmap.end(), true)) /
           static_cast<double>(plan.use_bitmap.size());
  }

  StopFlag stop;
  MemoryCounter memory;
  WorkerPool pool{2, stop};
};

TEST_F(Choice, RareTokensAreIndexedAndFrequentOnesCompared) {
  EXPECT_EQ(through_bitmaps(even_sets(20'000, 50, 60, 500'000, memory), 0.8), 0);
  EXPECT_EQ(through_bitmaps(even_sets(20'000, 50, 60, 150, memory), 0.5), 1);
}

TEST_F(Choice, BitmapsStayChosenAsTokensBecomeMoreFrequent) {
  double before = 0;
  for (const uint32_t ranks : {300'000u, 30'000u, 3'000u, 600u, 150u}) {
    const double now = through_bitmaps(even_sets(20'000, 60, 60, ranks, memory), 0.6);
    EXPECT_GE(now, before) << ranks;
    before = now;
  }
  EXPECT_EQ(before, 1);
}

TEST_F(Choice, BitmapsStayChosenAsTheThresholdFalls) {
  const SetCollection sets = even_sets(20'000, 60, 60, 1'500, memory);
  double before = 0;
  for (const double threshold : {0.95, 0.8, 0.65, 0.5, 0.4}) {
    const double now = through_bitmaps(sets, threshold);
    EXPECT_GE(now, before) << threshold;
    before = now;
  }
  EXPECT_EQ(before, 1);
  EXPECT_EQ(through_bitmaps(sets, 0.95), 0);
}

// A signature takes a look at all tokens of a set, and spares a look at the postings of its prefix.
TEST_F(Choice, SignaturesPayForLongListsNotForLongSets) {
  const auto signs = [&](const SetCollection &sets, double threshold) {
    const JoinProblem problem(Bounds(Measure::jaccard, threshold), sets, sets);
    return choose_generators(problem, pool, memory).sign_postings;
  };
  EXPECT_TRUE(signs(even_sets(20'000, 30, 40, 2'000, memory), 0.9));
  EXPECT_FALSE(signs(even_sets(20'000, 100, 100, 2'000'000, memory), 0.95));
}

TEST_F(Choice, SmallJoinsAreNotLookedAtClosely) {
  const SetCollection sets = even_sets(60, 60, 60, 150, memory);
  const JoinProblem problem(Bounds(Measure::jaccard, 0.5), sets, sets);
  const GeneratorPlan plan = choose_generators(problem, pool, memory);
  EXPECT_EQ(std::count(plan.use_bitmap.begin(), plan.use_bitmap.end(), true), 0);
}

TEST_F(Choice, OneGeneratorForAllIsTheBetterOfTheTwo) {
  for (const uint32_t ranks : {500'000u, 150u}) {
    const SetCollection sets = even_sets(20'000, 50, 60, ranks, memory);
    const JoinProblem problem(Bounds(Measure::jaccard, 0.6), sets, sets);
    const GeneratorPlan one = choose_one_generator(problem, 1, pool, memory);
    EXPECT_EQ(one.use_bitmap.front(), ranks == 150) << ranks;
    EXPECT_EQ(one.use_bitmap.back(), ranks == 150) << ranks;
  }
}

TEST_F(Choice, LongerSetsGetWiderBitmaps) {
  uint32_t before = 0;
  for (const uint32_t size : {8u, 60u, 300u}) {
    const SetCollection sets = even_sets(4'000, size, size, 20 * size, memory);
    const JoinProblem problem(Bounds(Measure::jaccard, 0.6), sets, sets);
    const BitmapCost cost = choose_layout(problem, size_bands(problem).front(), stop);
    EXPECT_GT(cost.layout.words, before) << size;
    EXPECT_LE(cost.layout.words, widest_layout_words(size)) << size;
    EXPECT_GE(cost.pair_ns, least_bitmap_pair_ns()) << size;
    EXPECT_GT(cost.rate, 0) << size;
    EXPECT_LT(cost.rate, 0.1) << size;
    before = cost.layout.words;
  }
  EXPECT_EQ(widest_layout_words(1u << 30), max_signature_words);
}

TEST_F(Choice, ABitmapThatTellsNothingCostsMoreThanOneThatTellsPairsApart) {
  const SetCollection sets = even_sets(4'000, 200, 200, 4'000, memory);
  const JoinProblem problem(Bounds(Measure::jaccard, 0.5), sets, sets);
  const SizeBand band = size_bands(problem).front();
  const BitmapCost narrow = cost_of_layout(problem, band, {1, 32, sets.ranks}, stop);
  const BitmapCost wide = cost_of_layout(problem, band, {16, 512, sets.ranks}, stop);
  EXPECT_GT(narrow.rate, wide.rate);
  EXPECT_GT(narrow.pair_ns, wide.pair_ns);
}

TEST_F(Choice, BandsHoldEachClassOnceAndSetsOfAboutASize) {
  const SetCollection sets = even_sets(3'000, 3, 90, 5'000, memory);
  const JoinProblem problem(Bounds(Measure::jaccard, 0.5), sets, sets);
  uint32_t next = 0;
  uint64_t pairs = 0;
  for (const SizeBand &band : size_bands(problem)) {
    EXPECT_EQ(band.begin, next);
    ASSERT_LT(band.begin, band.end);
    EXPECT_LT(sets.classes[band.end - 1].size * 2, sets.classes[band.begin].size * 3);
    EXPECT_EQ(band.sets, sets.classes[band.end - 1].end - sets.classes[band.begin].begin);
    next = band.end;
    pairs += band.pairs;
  }
  EXPECT_EQ(next, sets.classes.size());
  EXPECT_EQ(pairs, problem.compatible_pairs());
}

TEST_F(Choice, SampledPairsAreCompatibleAndEvenlyDrawn) {
  const SetCollection sets = even_sets(3'000, 20, 29, 5'000, memory);
  const JoinProblem problem(Bounds(Measure::jaccard, 0.5), sets, sets);
  const std::vector<SizeBand> bands = size_bands(problem);
  ASSERT_EQ(bands.size(), 1u);
  const std::vector<SampledPair> pairs = sample_pairs(problem, bands[0], 4'000, UINT64_MAX);
  EXPECT_GT(pairs.size(), 3'900u);
  double sum = 0;
  for (const SampledPair &pair : pairs) {
    ASSERT_LT(pair.partner, pair.probe);
    ASSERT_EQ(pair.probe_class, sets.class_of(pair.probe));
    ASSERT_EQ(pair.index_class, sets.class_of(pair.partner));
    const uint32_t r = sets.classes[pair.probe_class].size, s = sets.classes[pair.index_class].size;
    EXPECT_EQ(pair.required, problem.bounds.min_overlap(r, s));
    sum += pair.probe;
  }
  // The larger number of a pair is on average two thirds of the way.
  EXPECT_NEAR(sum / static_cast<double>(pairs.size()), 2'000, 50);
  EXPECT_LT(sample_pairs(problem, bands[0], 4'000, 1'000).size(), 60u);
}

JoinLoad titles(double rows, double threshold) {
  JoinLoad load;
  load.rows[0] = rows;
  load.tokens = 88 * rows;
  load.self_join = true;
  load.threshold = threshold;
  return load;
}

TEST(DeviceCosts, GrowWithTheWorkAndFallWithThreadsAndThreshold) {
  for (double rows = 1e3; rows < 1e7; rows *= 10) {
    EXPECT_GT(cpu_join_ms(titles(2 * rows, 0.8), 4), cpu_join_ms(titles(rows, 0.8), 4));
    EXPECT_GT(cpu_join_ms(titles(rows, 0.7), 4), cpu_join_ms(titles(rows, 0.8), 4));
    EXPECT_GT(cpu_join_ms(titles(rows, 0.8), 4), cpu_join_ms(titles(rows, 0.8), 16));
    EXPECT_GT(gpu_join_ms(titles(2 * rows, 0.8), {}), gpu_join_ms(titles(rows, 0.8), {}));
    EXPECT_GT(gpu_join_ms(titles(rows, 0.7), {}), gpu_join_ms(titles(rows, 0.8), {}));
    EXPECT_GT(gpu_join_ms(titles(rows, 0.8), {2, 2}), gpu_join_ms(titles(rows, 0.8), {}));
    EXPECT_LT(gpu_compare_ms(titles(rows, 0.8), {}), gpu_join_ms(titles(rows, 0.8), {}));
  }
}

TEST(DeviceCosts, AGpuPaysFromSomeNumberOfSetsOn) {
  for (const double threshold : {0.9, 0.7, 0.5}) {
    bool paid = false;
    for (double rows = 100; rows < 1e8; rows *= 1.5) {
      const JoinLoad load = titles(rows, threshold);
      const bool pays = cpu_join_ms(load, 16) > gpu_join_ms(load, {}) + costs::gpu_start_ms;
      EXPECT_TRUE(pays || !paid) << rows << " at " << threshold;
      if (rows < 1e3) {
        EXPECT_FALSE(pays) << rows << " at " << threshold;
      }
      paid = pays;
    }
    EXPECT_TRUE(paid) << threshold;
  }
}

TEST(DeviceCosts, SeveralGpusPayForLongJoinsOnly) {
  constexpr double copy_ms = 11;  // of the collection dblp6m
  EXPECT_EQ(gpus_that_pay(40, 0.1, 4, 4), 4);
  EXPECT_EQ(gpus_that_pay(5, 0.1, 4, 4), 1);
  EXPECT_EQ(gpus_that_pay(20, copy_ms, 4, 4), 1);
  EXPECT_EQ(gpus_that_pay(60, copy_ms, 4, 4), 2);
  EXPECT_EQ(gpus_that_pay(90, copy_ms, 4, 4), 3);
  EXPECT_EQ(gpus_that_pay(400, copy_ms, 4, 4), 4);
  EXPECT_EQ(gpus_that_pay(400, copy_ms, 4, 3), 3);
  EXPECT_EQ(gpus_that_pay(900, copy_ms, 2, 4), 2);  // the others would have to be set up
  EXPECT_EQ(gpus_that_pay(400, copy_ms, 1, 1), 1);
  EXPECT_EQ(gpus_that_pay(9000, copy_ms, 1, 4), 4);
}

TEST(SigningCosts, AGpuPaysFromSomeNumberOfTokensOn) {
  for (const SignatureFamily family : {SignatureFamily::minhash, SignatureFamily::weighted}) {
    bool paid = false;
    for (size_t tokens = 16; tokens < size_t{1} << 26; tokens *= 2) {
      const SigningCosts costs = signing_costs(family, tokens, tokens / 60 * 128, 128, 4);
      const bool pays = costs.cpu_ms > costs.gpu_ms;
      EXPECT_TRUE(pays || !paid) << tokens;
      paid = pays;
    }
    EXPECT_TRUE(paid);
    EXPECT_FALSE(signing_costs(family, 16, 128, 128, 4).cpu_ms >
                 signing_costs(family, 16, 128, 128, 4).gpu_ms);
  }
}

}  // namespace
}  // namespace simjoin::test
