// Joins by bands beyond their memory limit give the pairs and figures of joins in memory, within the limit.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/lsh/lsh_join.hpp"
#include "core/minhash/minhash_plan.hpp"
#include "unit/drive.hpp"
#include "unit/random_sets.hpp"
#include "unit/typed_tokens.hpp"

namespace simjoin::test {
namespace {

struct LshResult {
  std::vector<Pair> pairs;
  LshStats lsh;
  JoinStats stats;
};

template <class Token>
LshResult run_lsh(LshSpec spec, const Input<Token> &input) {
  spec.self_join = input.self_join;
  const auto join = make_lsh_join(spec);
  feed(*join, input);
  LshResult result;
  result.pairs = pull(*join);
  result.lsh = join->lsh_stats();
  result.stats = join->stats();
  return result;
}

// Tests that the join within the limit uses a file, and has the pairs and figures of the one in memory.
template <class Token>
LshResult expect_same_within(size_t limit, LshSpec spec, const Input<Token> &input) {
  const LshResult expected = run_lsh(spec, input);
  EXPECT_EQ(expected.stats.partitions, 0u);
  EXPECT_FALSE(expected.pairs.empty());
  spec.memory_limit = limit;
  LshResult result = run_lsh(spec, input);
  EXPECT_GE(result.stats.partitions, 1u);
  EXPECT_EQ(difference(expected.pairs, result.pairs), "");
  EXPECT_EQ(result.lsh.comparisons, expected.lsh.comparisons);
  EXPECT_EQ(result.lsh.candidates, expected.lsh.candidates);
  EXPECT_EQ(result.lsh.chained_buckets, expected.lsh.chained_buckets);
  EXPECT_EQ(result.lsh.largest, expected.lsh.largest);
  EXPECT_EQ(result.stats.tokens[0], expected.stats.tokens[0]);
  EXPECT_EQ(result.stats.tokens[1], expected.stats.tokens[1]);
  return result;
}

LshSpec spec_of(double threshold, uint32_t permutations) {
  LshSpec spec;
  spec.threshold = threshold;
  spec.permutations = permutations;
  spec.plan = best_band_plan(threshold, permutations);
  spec.threads = 2;
  return spec;
}

// Returns rows of `size` tokens. Every fifth row is nearly the one before, and is a right row in a join of
// two sides.
Input<int32_t> near_pairs(size_t rows, int32_t size, bool self_join) {
  RandomSets random(81);
  Input<int32_t> input;
  input.self_join = self_join;
  for (size_t i = 0; i < rows; ++i) {
    const bool near = i % 5 == 4;
    IntSet set = near ? random.edited(input.left.back(), size / 10, 1'000'000) : random.set(size, 1'000'000);
    (near && !self_join ? input.right : input.left).push_back(std::move(set));
  }
  return input;
}

TEST(LshMemory, ResultsDoNotDependOnTheLimit) {
  for (const bool self_join : {true, false}) {
    const Input<int32_t> input = near_pairs(12'000, 20, self_join);
    const LshSpec spec = spec_of(0.7, 64);
    EXPECT_GT(expect_same_within(1, spec, input).stats.partitions, 1u);
    expect_same_within(mebibyte / 2, spec, with_tokens<int64_t>(input));
    expect_same_within(mebibyte / 2, spec, with_tokens<std::string>(input));
  }
}

TEST(LshMemory, UnverifiedResultsDoNotDependOnTheLimit) {
  for (const bool self_join : {true, false}) {
    LshSpec spec = spec_of(0.7, 64);
    spec.verify = false;
    const Input<int32_t> input = near_pairs(12'000, 20, self_join);
    expect_same_within(mebibyte / 2, spec, input);
    expect_same_within(mebibyte / 2, spec, with_tokens<int64_t>(input));
    expect_same_within(mebibyte / 2, spec, with_tokens<std::string>(input));
  }
}

// Returns rows, `copies` of them the same. In a join of two sides, some of the copies are right rows at
// regular distances.
Input<int32_t> with_copies(size_t copies, bool self_join, size_t right_every) {
  Input<int32_t> input = near_pairs(3000, 10, self_join);
  RandomSets random(82);
  for (size_t i = 0; i < copies; ++i) {
    (!self_join && i % right_every == 1 ? input.right : input.left).push_back({1, 2, 3});
    if (i % 90 == 0) input.left.push_back(random.set(1000, 1000));
  }
  return input;
}

// One bucket has more rows than can be sorted at a time, or more than a worker has in memory at once.
TEST(LshMemory, LargeBuckets) {
  LshSpec spec = spec_of(0.6, 12);
  spec.max_bucket_size = 60;
  for (const bool self_join : {true, false}) expect_same_within(1, spec, with_copies(9000, self_join, 2));
  spec.max_bucket_size = 10'000;
  expect_same_within(1, spec, with_copies(1500, true, 0));
  expect_same_within(1, spec, with_copies(9000, false, 90));
}

TEST(LshMemory, LargeSets) {
  for (const bool self_join : {true, false}) {
    const Input<int32_t> input = near_pairs(60, 20'000, self_join);
    expect_same_within(1, spec_of(0.7, 16), input);
  }
}

// The peak of memory follows the limit, down to a floor.
TEST(LshMemory, KeepsToTheLimit) {
  const Input<int32_t> input = near_pairs(40'000, 20, true);
  LshSpec spec = spec_of(0.8, 128);
  const size_t whole = run_lsh(spec, input).stats.memory_peak;
  EXPECT_GT(whole, 10 * mebibyte);
  for (const size_t limit : {2 * mebibyte, 4 * mebibyte, 6 * mebibyte}) {
    spec.memory_limit = limit;
    const JoinStats stats = run_lsh(spec, input).stats;
    EXPECT_LE(stats.memory_peak, limit + mebibyte / 2) << limit;
    EXPECT_GE(stats.one_part_limit, whole) << limit;
    EXPECT_LE(stats.one_part_limit, whole * 2) << limit;
  }
  spec.memory_limit = whole * 2;
  EXPECT_EQ(run_lsh(spec, input).stats.partitions, 0u);
}

// Beyond the limit is one bucket, whose keys are not kept for the next band, nor sorted.
TEST(LshMemory, ABucketIsInMemoryOnce) {
  constexpr size_t copies = 300'000, limit = 5 * mebibyte, key_bytes = 16;
  Input<int32_t> input;
  input.self_join = false;
  input.left.assign(2, {1, 2, 3});
  input.right.assign(copies, {1, 2, 3});
  RandomSets random(83);
  for (size_t i = 0; i < 160'000; ++i) input.right.push_back(random.set(4, 2'000'000'000));
  LshSpec spec = spec_of(0.8, 12);
  spec.plan = {4, 3};
  spec.max_bucket_size = copies + 2;
  spec.memory_limit = limit;
  const LshResult result = run_lsh(spec, input);
  EXPECT_GT(result.stats.partitions, 1u);
  EXPECT_EQ(result.pairs.size(), 2 * copies);
  EXPECT_LE(result.stats.memory_peak, limit / 4 + copies * key_bytes);
}

TEST(LshMemory, FileThatIsTooSmall) {
  const Input<int32_t> input = near_pairs(5000, 20, true);
  LshSpec spec = spec_of(0.7, 64);
  spec.self_join = true;
  spec.memory_limit = 1;
  const auto join = make_lsh_join(spec);
  add_set(*join, Side::left, std::span<const int32_t>(input.left[0]));
  ASSERT_TRUE(join->wants_spill_file());
  join->set_spill_file(unlinked_file(), mebibyte);
  const auto finish = [&] {
    for (const IntSet &set : input.left) add_set(*join, Side::left, std::span<const int32_t>(set));
    pull(*join);
  };
  try {
    finish();
    FAIL() << "no error";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), ErrorKind::file_limit_exceeded);
  }
}

}  // namespace
}  // namespace simjoin::test
