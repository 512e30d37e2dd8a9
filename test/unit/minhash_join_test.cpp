// Joins by bands: every candidate pair is found, verified and handed over once, large buckets are chained,
// and the recall is as predicted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/lsh/lsh_join.hpp"
#include "core/minhash/minhash.hpp"
#include "core/minhash/minhash_family.hpp"
#include "core/minhash/minhash_signature.hpp"
#include "unit/cpu_time.hpp"
#include "unit/drive.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

struct BandResult {
  std::vector<Pair> pairs;  // ascending
  LshStats stats;
};

BandResult join_by_bands(const LshSpec &spec, const Input<int32_t> &input) {
  const auto join = make_lsh_join(spec);
  feed(*join, input);
  BandResult result;
  Batch batch;
  ShareCheck share;
  for (StepResult step; (step = join->step(step_budget, batch)) != StepResult::done; share.look(*join))
    if (step == StepResult::batch) collect(batch, result.pairs);
  std::sort(result.pairs.begin(), result.pairs.end());
  result.stats = join->lsh_stats();
  return result;
}

std::vector<uint32_t> values_of(const IntSet &set, const LshSpec &spec) {
  const MinHasher hasher(spec.permutations, spec.seed);
  std::vector<uint32_t> values(spec.permutations);
  hasher.start(values.data());
  for (const int32_t token : set) {
    const uint32_t hash = token_hash(token_identity(int64_t{token}));
    hasher.add(&hash, 1, values.data());
  }
  return values;
}

// The rows that agree in each band, numbered over both sides (over one side in a self-join).
using Buckets = std::vector<std::map<uint64_t, std::vector<uint32_t>>>;

Buckets buckets_of(const Input<int32_t> &input, const LshSpec &spec) {
  Buckets buckets(spec.plan.bands);
  SignatureHeader header;
  header.seed = spec.seed;
  uint32_t row = 0;
  for (const IntSets *sets : {&input.left, &input.right}) {
    for (const IntSet &set : *sets) {
      const std::vector<uint32_t> values = values_of(set, spec);
      for (uint32_t band = 0; band < spec.plan.bands && !set.empty(); ++band)
        buckets[band][band_hash(header, band, values.data() + band * spec.plan.rows, spec.plan.rows)]
            .push_back(row);
      ++row;
    }
  }
  return buckets;
}

// Returns the pairs that must be compared, as rows of their sides.
std::set<std::pair<uint32_t, uint32_t>> candidates_of(const Input<int32_t> &input, const LshSpec &spec) {
  const auto left_rows = static_cast<uint32_t>(input.left.size());
  std::set<std::pair<uint32_t, uint32_t>> candidates;
  for (const auto &band : buckets_of(input, spec)) {
    for (const auto &[hash, rows] : band) {
      const bool chained = rows.size() > spec.max_bucket_size;
      const auto first_right =
          std::find_if(rows.begin(), rows.end(), [&](uint32_t r) { return r >= left_rows; });
      for (size_t l = 0; l < rows.size(); ++l) {
        for (size_t r = l + 1; r < rows.size(); ++r) {
          if (input.self_join) {
            if (!chained || l == 0) candidates.insert({rows[l], rows[r]});
          } else if (rows[l] < left_rows && rows[r] >= left_rows) {
            if (!chained || l == 0 || rows[r] == *first_right)
              candidates.insert({rows[l], rows[r] - left_rows});
          }
        }
      }
    }
  }
  return candidates;
}

LshSpec spec_of(const Input<int32_t> &input, double threshold, uint32_t permutations, BandPlan plan) {
  LshSpec spec;
  spec.threshold = threshold;
  spec.self_join = input.self_join;
  spec.permutations = permutations;
  spec.plan = plan;
  spec.threads = 2;
  return spec;
}

// Expects all pairs among those that must be compared. The filter may rule the others out, in the same way
// within any memory.
void expect_candidates_verified(const LshSpec &spec, const Input<int32_t> &input, const std::string &what) {
  const auto compared = candidates_of(input, spec);
  std::vector<Pair> expected;
  for (const Pair &pair : Oracle<int32_t>(input).join(spec.measure, spec.threshold))
    if (compared.count({pair.left, pair.right}) > 0) expected.push_back(pair);
  uint64_t candidates = 0;
  for (const size_t limit : {spec.memory_limit, size_t{1}}) {
    LshSpec limited = spec;
    limited.memory_limit = limit;
    const BandResult result = join_by_bands(limited, input);
    EXPECT_EQ(result.pairs, expected) << what << " within " << limit;
    EXPECT_GE(result.stats.candidates, expected.size()) << what << " within " << limit;
    EXPECT_LE(result.stats.candidates, compared.size()) << what << " within " << limit;
    EXPECT_EQ(result.stats.output, expected.size()) << what << " within " << limit;
    if (limit < spec.memory_limit) {
      EXPECT_EQ(result.stats.candidates, candidates) << what;
    }
    candidates = result.stats.candidates;
  }
}

TEST(LshJoin, FindsTheCandidatesThatAreSimilar) {
  for (const Shape &shape : all_shapes) {
    for (const Input<int32_t> &input : {self_input(shape, 61), two_sided_input(shape, 62)}) {
      expect_candidates_verified(spec_of(input, 0.5, 32, {8, 4}), input, shape.name);
      expect_candidates_verified(spec_of(input, 0.8, 13, {6, 2}), input, shape.name);
    }
  }
}

TEST(LshJoin, VerifiesByTheMeasure) {
  for (const Measure measure : {Measure::cosine, Measure::dice}) {
    for (const Input<int32_t> &input : {self_input(all_shapes[3], 71), two_sided_input(all_shapes[4], 72)}) {
      LshSpec spec = spec_of(input, 0.6, 32, {16, 2});
      spec.measure = measure;
      expect_candidates_verified(spec, input, std::string(measure_names[static_cast<int>(measure)]));
    }
  }
}

// Sets that share a token with all others, and thus a bucket with some, but nothing else with most. Sizes are
// such that tiles of all sizes occur, full ones, too.
TEST(LshJoin, FilterRulesOutUnrelatedPairs) {
  for (const int32_t rows : {5, 8, 9, 700}) {
    RandomSets random(75);
    Input<int32_t> input;
    input.self_join = true;
    for (int32_t i = 0; i < rows; ++i) {
      IntSet set =
          i % 10 == 9 ? random.edited(input.left.back(), 1, 1'000'000) : random.set(5 + i % 7, 1'000'000);
      set[0] = 0;
      input.left.push_back(std::move(set));
    }
    for (const bool self_join : {true, false}) {
      input.self_join = self_join;
      if (!self_join) input.right.assign(input.left.rbegin(), input.left.rend());
      const LshSpec spec = spec_of(input, 0.5, 32, {32, 1});
      expect_candidates_verified(spec, input, std::to_string(rows));
      const LshStats stats = join_by_bands(spec, input).stats;
      EXPECT_LE(stats.candidates, stats.output + stats.comparisons / 20) << rows;
    }
  }
}

TEST(LshJoin, LargeBucketsAreChained) {
  for (const Shape &shape : {all_shapes[2], all_shapes[4], all_shapes[6]}) {
    for (const Input<int32_t> &input : {self_input(shape, 63), two_sided_input(shape, 64)}) {
      for (const uint32_t most : {1u, 2u, 5u}) {
        LshSpec spec = spec_of(input, 0.4, 16, {8, 1});
        spec.max_bucket_size = most;
        expect_candidates_verified(spec, input, shape.name + std::to_string(most));
      }
    }
  }
}

TEST(LshJoin, CountsChainedBuckets) {
  Input<int32_t> input;
  input.self_join = true;
  input.left = {{1}, {5, 6}, {1}, {1}, {5, 6}, {1}};
  LshSpec spec = spec_of(input, 0.5, 4, {2, 2});
  spec.max_bucket_size = 3;
  const LshStats stats = join_by_bands(spec, input).stats;
  EXPECT_EQ(stats.chained_buckets, 2u);
  EXPECT_EQ(stats.largest[0], (ChainedBucket{4, 6}));
  EXPECT_EQ(stats.largest[1], (ChainedBucket{4, 6}));
  EXPECT_EQ(stats.largest[2], ChainedBucket{});
  EXPECT_EQ(stats.comparisons, 14u);  // in each band 6 of the bucket of four and 1 of the bucket of two
  EXPECT_EQ(stats.candidates, 4u);    // three with the first of the four, one of the two
  EXPECT_EQ(join_by_bands(spec_of(input, 0.5, 4, {2, 2}), input).stats.candidates, 7u);
}

// Buckets of 2 to 9 rows in one band, in no order: the five largest are reported.
TEST(LshJoin, TellsTheLargestChainedBuckets) {
  Input<int32_t> input;
  for (const bool self_join : {true, false}) {
    input = {};
    input.self_join = self_join;
    for (const int32_t rows : {4, 9, 2, 7, 3, 8, 5, 6})
      for (int32_t row = 0; row < rows; ++row)
        (self_join || row > 0 ? input.left : input.right).push_back({rows * 100});
    LshSpec spec = spec_of(input, 0.5, 1, {1, 1});
    spec.max_bucket_size = 3;
    const LshStats stats = join_by_bands(spec, input).stats;
    EXPECT_EQ(stats.chained_buckets, 6u);
    for (uint64_t i = 0; i < stats.largest.size(); ++i) {
      const uint64_t rows = 9 - i;
      EXPECT_EQ(stats.largest[i], (ChainedBucket{rows, self_join ? rows * (rows - 1) / 2 : rows - 1}));
    }
  }
}

TEST(LshJoin, WithoutVerificationHandsOverEveryCandidateWithItsCommonValues) {
  for (const Input<int32_t> &input : {self_input(all_shapes[3], 65), two_sided_input(all_shapes[5], 66)}) {
    LshSpec spec = spec_of(input, 0.9, 20, {5, 4});
    spec.verify = false;
    std::vector<Pair> expected;
    for (const auto &[left, right] : candidates_of(input, spec)) {
      const std::vector<uint32_t> a = values_of(input.left[left], spec);
      const std::vector<uint32_t> b = values_of(input.other()[right], spec);
      uint32_t common = 0;
      for (size_t i = 0; i < a.size(); ++i) common += a[i] == b[i];
      expected.push_back({left, right, common});
    }
    EXPECT_EQ(join_by_bands(spec, input).pairs, expected);
  }
}

// With verification the sizes come from the numbering of tokens, without it from the tokens themselves.
TEST(LshJoin, SizesAreWithoutRepeatedTokens) {
  Input<int32_t> input;
  input.self_join = true;
  input.left = {{1, 2, 1, 1}, {}, {5, 5}, {7, 8, 9}};
  for (const bool verify : {true, false}) {
    LshSpec spec = spec_of(input, 0.5, 8, {4, 2});
    spec.verify = verify;
    const auto join = make_lsh_join(spec);
    feed(*join, input);
    pull(*join);
    for (const auto &[row, size] : {std::pair(0u, 2u), {1u, 0u}, {2u, 1u}, {3u, 3u}})
      EXPECT_EQ(join->set_size(Side::left, row), size) << "row " << row << ", verify " << verify;
    EXPECT_EQ(join->stats().tokens[0], 6u) << verify;
  }
}

// Pairs that an exact join finds, by their similarity: the share that is found follows the curve.
TEST(LshJoin, RecallIsAsPredicted) {
  RandomSets random(67);
  Input<int32_t> input;
  input.self_join = true;
  for (int32_t i = 0; i < 3000; ++i) {
    input.left.push_back(random.set(60, 1'000'000));
    IntSet near = input.left.back();
    for (size_t changed = 0; changed < 5; ++changed)
      near[changed] = -1 - i * 10 - static_cast<int32_t>(changed);
    input.left.push_back(near);
  }
  const double jaccard = 55.0 / 65.0;
  const LshSpec spec = spec_of(input, 0.8, 128, best_band_plan(0.8, 128));
  const double expected = candidate_probability(spec.plan, jaccard);
  const double found = static_cast<double>(join_by_bands(spec, input).pairs.size()) / 3000;
  EXPECT_NEAR(found, expected, 4 * std::sqrt(expected * (1 - expected) / 3000));
}

TEST(LshJoin, EndsWhenAbandoned) {
  RandomSets random(68);
  Input<int32_t> input;
  input.self_join = true;
  const IntSet set = random.set(2000, 1'000'000);
  for (int i = 0; i < 3000; ++i) input.left.push_back(set);
  for (const int steps : {0, 1, 5}) {
    LshSpec spec = spec_of(input, 0.5, 256, {64, 4});
    auto join = make_lsh_join(spec);
    feed(*join, input);
    Batch batch;
    for (int i = 0; i < steps; ++i) join->step(std::chrono::microseconds(20'000), batch);
    EXPECT_TRUE(ends_at_once([&] { join.reset(); })) << steps << " steps";
  }
}

TEST(LshJoin, SmallInputs) {
  for (const IntSets &left : {IntSets{}, IntSets{{1}}, IntSets{{}, {}}, IntSets{{1}, {}}}) {
    Input<int32_t> input;
    input.self_join = true;
    input.left = left;
    EXPECT_TRUE(join_by_bands(spec_of(input, 0.5, 8, {4, 2}), input).pairs.empty());
    input.self_join = false;
    EXPECT_TRUE(join_by_bands(spec_of(input, 0.5, 8, {4, 2}), input).pairs.empty());
    std::swap(input.left, input.right);
    EXPECT_TRUE(join_by_bands(spec_of(input, 0.5, 8, {4, 2}), input).pairs.empty());
  }
}

}  // namespace
}  // namespace simjoin::test
