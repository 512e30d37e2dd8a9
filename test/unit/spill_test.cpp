// Joins beyond their memory limit give the same pairs, keep to the limit, and end cleanly if the file fails.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <limits>
#include <map>
#include <tuple>

#include "core/base/error.hpp"
#include "core/sets/raw_sets.hpp"
#include "unit/drive.hpp"
#include "unit/filter_counts.hpp"
#include "unit/process.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

// So little memory that every few sets are a part of their own.
constexpr size_t least_limit = 1;

JoinSpec limited(JoinSpec spec, size_t limit) {
  spec.memory_limit = limit;
  return spec;
}

std::vector<double> few_thresholds(Measure measure) {
  if (measure == Measure::overlap) return {1.0, 4.5, 18.0};
  return {0.3, 0.55, 0.8, 1.0};
}

// Joins at every `stride`-th threshold from number `first` on.
template <class Token>
void expect_oracle_pairs(const Input<Token> &input, Algorithm algorithm, size_t limit, int threads,
                         size_t first = 0, size_t stride = 1) {
  const Oracle<Token> oracle(input);
  for (Measure measure : all_measures) {
    const std::vector<double> thresholds = few_thresholds(measure);
    for (size_t i = first; i < thresholds.size(); i += stride) {
      const double threshold = thresholds[i];
      JoinStats stats;
      const JoinSpec spec = limited(make_spec(algorithm, measure, threshold, threads), limit);
      const std::vector<Pair> expected = oracle.join(measure, threshold);
      SCOPED_TRACE(name_of(measure) + " >= " + std::to_string(threshold) + " by " + name_of(algorithm) +
                   " within " + std::to_string(limit) + (input.self_join ? ", self-join" : ""));
      EXPECT_EQ(difference(expected, run(spec, input, &stats)), "");
      EXPECT_EQ(stats.output, expected.size());
      EXPECT_EQ(stats.threads, threads);
      EXPECT_GT(stats.spilled_bytes, 0u);
      expect_filters_never_add(stats);
    }
  }
}

class SpillTest : public testing::TestWithParam<std::tuple<Shape, Algorithm>> {};

INSTANTIATE_TEST_SUITE_P(Every, SpillTest,
                         testing::Combine(testing::ValuesIn(all_shapes), testing::ValuesIn(all_algorithms)),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  name_of(std::get<1>(info.param));
                         });

TEST_P(SpillTest, SelfJoinEqualsOracle) {
  const auto &[shape, algorithm] = GetParam();
  expect_oracle_pairs(self_input(shape, 51), algorithm, least_limit, 3, 0, 2);
  expect_oracle_pairs(self_input(shape, 52), algorithm, 1500, 1, 1, 2);
}

TEST_P(SpillTest, TwoSidedJoinEqualsOracle) {
  const auto &[shape, algorithm] = GetParam();
  expect_oracle_pairs(two_sided_input(shape, 53), algorithm, least_limit, 2, 0, 2);
  Input<int32_t> input = two_sided_input(shape, 54);
  std::swap(input.left, input.right);
  expect_oracle_pairs(input, algorithm, 1500, 2, 1, 2);
}

class SpillAlgorithm : public testing::TestWithParam<Algorithm> {
 protected:
  static JoinSpec spec(double threshold, int threads = 2) {
    return make_spec(GetParam(), Measure::jaccard, threshold, threads);
  }
};

INSTANTIATE_TEST_SUITE_P(Every, SpillAlgorithm, testing::ValuesIn(all_algorithms),
                         [](const auto &info) { return name_of(info.param); });

TEST_P(SpillAlgorithm, EveryTokenTypeEqualsOracle) {
  const Input<int32_t> input = two_sided_input(all_shapes[1], 55);
  const auto convert = [&]<class Token>(auto &&token_of) {
    Input<Token> converted;
    for (auto [from, to] : {std::pair(&input.left, &converted.left), {&input.right, &converted.right}}) {
      for (const IntSet &set : *from) {
        to->emplace_back();
        for (int32_t token : set) to->back().push_back(token_of(token));
      }
    }
    expect_oracle_pairs(converted, GetParam(), least_limit, 2);
    converted.self_join = true;
    converted.right.clear();
    expect_oracle_pairs(converted, GetParam(), least_limit, 2);
  };
  // A table cannot cover the range of the values.
  convert.operator()<int32_t>(
      [](int32_t token) { return static_cast<int32_t>(static_cast<uint32_t>(token) * 2654435761u); });
  convert.operator()<int64_t>([](int32_t token) { return (int64_t{token} - 99) * 0x1'0000'0001; });
  convert.operator()<std::string>(
      [](int32_t token) { return "common prefix" + std::to_string(token * 7919); });
}

TEST_P(SpillAlgorithm, EveryPairAtAThresholdOfZero) {
  for (double threshold : {0.0, -1.0}) {
    for (Input<int32_t> input : {self_input(all_shapes[5], 56), two_sided_input(all_shapes[5], 57)}) {
      JoinStats stats;
      const std::vector<Pair> expected = Oracle<int32_t>(input).join(Measure::jaccard, threshold);
      EXPECT_EQ(difference(expected, run(limited(spec(threshold), least_limit), input, &stats)), "");
      EXPECT_GT(stats.partitions, 1u);
    }
  }
  Input<int32_t> input = self_input(all_shapes[5], 58);
  EXPECT_TRUE(run(limited(spec(std::numeric_limits<double>::quiet_NaN()), least_limit), input).empty());
}

// Sets of one size, so that a class has to be cut, one set larger than all others together, and only empty
// sets.
TEST_P(SpillAlgorithm, SkewedSizesEqualOracle) {
  RandomSets random(59);
  Input<int32_t> same;
  same.self_join = true;
  while (same.left.size() < 200) {
    same.left.push_back(random.set(24, 300, 2.0));
    IntSet copy = same.left.back();
    copy.at(23) = 1000;
    same.left.push_back(copy);
  }
  expect_oracle_pairs(same, GetParam(), least_limit, 2);
  Input<int32_t> huge = self_input(all_shapes[0], 60);
  huge.left.push_back(random.set(20'000, 40'000));
  huge.left.push_back(random.edited(huge.left.back(), 100, 40'000));
  expect_oracle_pairs(huge, GetParam(), 4096, 2);
  Input<int32_t> empty;
  empty.self_join = true;
  empty.left.resize(500);
  EXPECT_TRUE(run(limited(spec(0.5), least_limit), empty).empty());
  empty.self_join = false;
  EXPECT_TRUE(run(limited(spec(0.5), least_limit), empty).empty());
}

TEST_P(SpillAlgorithm, HundredsOfParts) {
  RandomSets random(61);
  Input<int32_t> input;
  input.self_join = true;
  input.left = shapes::near_duplicates(random, 300);
  JoinStats stats;
  const std::vector<Pair> expected = Oracle<int32_t>(input).join(Measure::jaccard, 0.6);
  EXPECT_EQ(difference(expected, run(limited(spec(0.6), least_limit), input, &stats)), "");
  EXPECT_GT(stats.partitions, 200u);
}

// Figures that do not depend on the parts of the join.
TEST_P(SpillAlgorithm, InputAndLengthFilterAreExact) {
  for (Input<int32_t> input : {self_input(all_shapes[3], 62), two_sided_input(all_shapes[3], 63)}) {
    JoinStats whole, parts;
    run(spec(0.6), input, &whole);
    run(limited(spec(0.6), least_limit), input, &parts);
    EXPECT_EQ(whole.partitions, 0u);
    EXPECT_EQ(whole.spilled_bytes, 0u);
    EXPECT_GT(parts.partitions, 1u);
    for (int side : {0, 1}) {
      EXPECT_EQ(parts.sets[side], whole.sets[side]);
      EXPECT_EQ(parts.tokens[side], whole.tokens[side]);
    }
    EXPECT_EQ(parts.distinct_tokens, whole.distinct_tokens);
    EXPECT_EQ(parts.pairs, whole.pairs);
    EXPECT_EQ(parts.after_length, whole.after_length);
    EXPECT_EQ(parts.output, whole.output);
  }
}

// Sets with so many tokens in total that a limit of a few megabytes is a small part of them.
const Input<int32_t> &large_input() {
  static const Input<int32_t> input = [] {
    RandomSets random(64);
    Input<int32_t> large;
    large.self_join = true;
    while (large.left.size() < 30'000) {
      large.left.push_back(random.set(random.between(20, 60), 8000));
      if (large.left.size() % 10 == 0) large.left.push_back(random.edited(large.left.back(), 2, 8000));
    }
    return large;
  }();
  return input;
}

TEST_P(SpillAlgorithm, MemoryStaysWithinTheLimit) {
  Input<int32_t> two;
  two.left.assign(large_input().left.begin(), large_input().left.begin() + 10'000);
  two.right.assign(large_input().left.begin() + 5'000, large_input().left.begin() + 25'000);
  for (const Input<int32_t> *input : {&large_input(), static_cast<const Input<int32_t> *>(&two)}) {
    JoinStats whole, parts;
    const std::vector<Pair> expected = run(spec(0.8), *input, &whole);
    EXPECT_GT(expected.size(), 1000u);
    const size_t limit = (whole.tokens[0] + whole.tokens[1]) * sizeof(int32_t) / 5;
    EXPECT_EQ(difference(expected, run(limited(spec(0.8), limit), *input, &parts)), "");
    EXPECT_LE(parts.memory_peak, limit);
    EXPECT_GT(whole.memory_peak, 4 * limit);
    EXPECT_GT(parts.partitions, 4u);
  }
}

// The estimate that requests a file covers the memory of a join in memory.
TEST_P(SpillAlgorithm, AFileIsAskedForBeforeTheLimitIsPassed) {
  JoinStats whole;
  run(spec(0.8), large_input(), &whole);
  JoinStats parts;
  // Within a limit, the last block of ids is smaller, and so is what is free there.
  const size_t least = whole.memory_peak - RawSets::most_block_bytes;
  run(limited(spec(0.8), least - mebibyte / 8), large_input(), &parts);
  EXPECT_GT(parts.partitions, 0u);
  for (size_t limit = least; limit <= whole.memory_peak; limit += mebibyte) {
    run(limited(spec(0.8), limit), large_input(), &parts);
    EXPECT_LE(parts.memory_peak, limit);
  }
  run(limited(spec(0.8), 2 * whole.memory_peak), large_input(), &parts);
  EXPECT_EQ(parts.partitions, 0u);
}

// The memory that is reported to suffice for one part does suffice, and much less does not.
TEST_P(SpillAlgorithm, ALimitForOnePartIsTold) {
  for (size_t limit : {mebibyte / 4, 2 * mebibyte}) {
    JoinStats parts, one;
    run(limited(spec(0.8), limit), large_input(), &parts);
    EXPECT_GT(parts.partitions, 1u);
    run(limited(spec(0.8), parts.one_part_limit), large_input(), &one);
    EXPECT_EQ(one.partitions, 0u) << parts.one_part_limit;
    EXPECT_EQ(one.one_part_limit, 0u);
    run(limited(spec(0.8), parts.one_part_limit * 4 / 5), large_input(), &one);
    EXPECT_GT(one.partitions, 0u) << parts.one_part_limit;
  }
}

TEST_P(SpillAlgorithm, CanBeLeftAtAnyMoment) {
  const auto leave_after = [&](int steps) {
    JoinSpec with = limited(spec(0.3, 3), 2 * mebibyte);
    with.self_join = true;
    auto engine = make_cpu_engine(with);
    feed(*engine, large_input());
    Batch batch;
    for (int i = 0; i < steps; ++i) engine->step(std::chrono::microseconds{3000}, batch);
    const auto start = processor_time();
    engine.reset();
    EXPECT_LT(processor_time() - start, prompt) << "after " << steps << " steps";
  };
  const size_t descriptors = open_descriptors();
  leave_after(1);  // makes the libraries allocate what they allocate once
  const size_t threads = settled_thread_count(1);
  const size_t heap = heap_bytes();
  for (int steps : {0, 1, 2, 5, 10, 20, 40}) leave_after(steps);
  EXPECT_EQ(settled_thread_count(threads), threads);
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_LT(heap_bytes(), heap + mebibyte);
}

// ---- Files that fail ----

// Joins with this file. Returns the kind of the error that ends the join.
ErrorKind failure_with(int descriptor, uint64_t limit = UINT64_MAX) {
  JoinSpec spec = limited(make_spec(Algorithm::ppjoin, Measure::jaccard, 0.7), mebibyte);
  spec.self_join = true;
  const std::unique_ptr<JoinEngine> engine = make_cpu_engine(spec);
  try {
    bool given = false;
    for (const IntSet &set : large_input().left) {
      add_set(*engine, Side::left, std::span<const int32_t>(set));
      if (!engine->wants_spill_file()) continue;
      EXPECT_FALSE(std::exchange(given, true)) << "a second file is wanted";
      engine->set_spill_file(descriptor, limit);
    }
    EXPECT_TRUE(given);
    pull(*engine);
  } catch (const Error &error) {
    EXPECT_STRNE(error.what(), "");
    return error.kind();
  }
  ADD_FAILURE() << "no error";
  return ErrorKind::internal;
}

TEST(SpillFailure, FullDisk) {
  EXPECT_EQ(failure_with(open("/dev/full", O_RDWR)), ErrorKind::disk_full);
}

TEST(SpillFailure, LimitOfTheFile) {
  EXPECT_EQ(failure_with(unlinked_file(), 2 * mebibyte), ErrorKind::file_limit_exceeded);
}

TEST(SpillFailure, LimitOfTheProcess) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  for (size_t mebibytes : {1, 6}) {  // while sets are added; in the engine's thread
    const rlimit small{mebibytes * mebibyte, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    EXPECT_EQ(failure_with(unlinked_file()), ErrorKind::disk_full);
    setrlimit(RLIMIT_FSIZE, &before);
  }
  std::signal(SIGXFSZ, SIG_DFL);
}

TEST(SpillFailure, NotWritable) {
  EXPECT_EQ(failure_with(open("/dev/null", O_RDONLY)), ErrorKind::io_failure);
}

// Written data cannot be read back.
TEST(SpillFailure, NotReadable) {
  EXPECT_EQ(failure_with(open("/dev/null", O_WRONLY)), ErrorKind::io_failure);
  EXPECT_EQ(failure_with(open("/dev/null", O_RDWR)), ErrorKind::io_failure);
}

TEST(SpillFailure, AnEngineThatWantsNoFileNeverAsks) {
  const std::unique_ptr<JoinEngine> engine = make_cpu_engine(JoinSpec{});
  for (int32_t token = 0; token < 1000; ++token) {
    add_set(*engine, Side::left, std::span<const int32_t>(&token, 1));
    ASSERT_FALSE(engine->wants_spill_file());
  }
}

}  // namespace
}  // namespace simjoin::test
