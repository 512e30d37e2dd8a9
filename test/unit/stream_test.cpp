// Joins with a small side, which is indexed while the other side streams past it.
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/error.hpp"
#include "unit/drive_stream.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

constexpr double stream_thresholds[] = {0.1, 0.5, 0.6, 2.0 / 3, 0.8, 0.9, 1.0, 2.0, 4.0};
// Returns an input whose side `small` has few rows of the collection, and the other one all.
Input<int32_t> small_sided_input(const Shape &shape, Side small, size_t rows, uint64_t seed) {
  Input<int32_t> input = self_input(shape, seed);
  input.self_join = false;
  input.right = input.left;
  IntSets &few = small == Side::left ? input.left : input.right;
  few.resize(std::min(rows, few.size()));
  return input;
}

template <class Token>
Input<Token> with_tokens(const Input<int32_t> &input, Token (*token)(int32_t)) {
  Input<Token> result;
  for (auto [from, to] : {std::pair(&input.left, &result.left), std::pair(&input.right, &result.right)}) {
    for (const IntSet &set : *from) {
      to->emplace_back();
      for (int32_t value : set) to->back().push_back(token(value));
    }
  }
  return result;
}

class StreamTest : public testing::TestWithParam<std::tuple<Shape, Side>> {
 protected:
  static const Shape &shape() { return std::get<0>(GetParam()); }
  static Side small() { return std::get<1>(GetParam()); }

  // Compares joins by all measures and stream_thresholds with the oracle. Returns how many have streamed.
  template <class Token>
  static int compare_any(const Input<Token> &input) {
    const Oracle<Token> oracle(input);
    int streamed = 0;
    for (Measure measure : all_measures) {
      for (double threshold : stream_thresholds) {
        std::vector<Pair> pairs;
        if (!run_streamed(make_spec(Algorithm::automatic, measure, threshold), small(), input, pairs))
          continue;
        ++streamed;
        EXPECT_EQ(difference(oracle.join(measure, threshold), pairs), "")
            << name_of(measure) << " >= " << threshold;
      }
    }
    return streamed;
  }
  // The same for few rows: all joins have to stream.
  template <class Token>
  static void compare(const Input<Token> &input) {
    EXPECT_EQ(compare_any(input), std::size(all_measures) * std::size(stream_thresholds));
  }
};

INSTANTIATE_TEST_SUITE_P(Every, StreamTest,
                         testing::Combine(testing::ValuesIn(all_shapes), testing::ValuesIn(sides)),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param).name) +
                                  (std::get<1>(info.param) == Side::left ? "_left" : "_right");
                         });

TEST_P(StreamTest, FindsAllPairsOfIntegers) {
  for (size_t rows : {1, 2, 7, 63}) compare(small_sided_input(shape(), small(), rows, 50 + rows));
}

TEST_P(StreamTest, FindsAllPairsOfManyRows) {
  EXPECT_GT(compare_any(small_sided_input(shape(), small(), shape().rows, 49)), 0);
}

TEST_P(StreamTest, FindsAllPairsOfAscendingIntegers) {
  Input<int32_t> input = small_sided_input(shape(), small(), 15, 51);
  for (IntSets *sets : {&input.left, &input.right})
    for (IntSet &set : *sets) std::sort(set.begin(), set.end());
  compare(input);
}

TEST_P(StreamTest, FindsAllPairsOfWideIntegers) {
  compare(with_tokens<int64_t>(small_sided_input(shape(), small(), 12, 52), [](int32_t token) {
    return token % 3 == 0 ? std::numeric_limits<int64_t>::min() + token : int64_t{token} << 32;
  }));
}

TEST_P(StreamTest, FindsAllPairsOfTexts) {
  compare(with_tokens<std::string>(small_sided_input(shape(), small(), 12, 53), [](int32_t token) {
    return token == 0 ? std::string()
                      : std::string(static_cast<size_t>(token % 5), 'x') + std::to_string(token);
  }));
}

TEST_P(StreamTest, FiguresAreExact) {
  const Input<int32_t> input = small_sided_input(shape(), small(), 10, 54);
  std::vector<Pair> pairs;
  JoinStats stats;
  ASSERT_TRUE(
      run_streamed(make_spec(Algorithm::automatic, Measure::jaccard, 0.6), small(), input, pairs, &stats));
  EXPECT_EQ(stats.output, pairs.size());
  EXPECT_GE(stats.verified, stats.output);
  EXPECT_EQ(stats.pairs, input.left.size() * input.right.size());
  EXPECT_EQ(stats.streamed, small() == Side::left ? "right" : "left");
  for (Side side : sides) {
    uint64_t sets = 0;
    for (const IntSet &set : side_of(input, side)) sets += !set.empty();
    EXPECT_EQ(stats.sets[static_cast<int>(side)], sets);
  }
  EXPECT_GT(stats.memory_peak, 0u);
}

// What has been recorded becomes a part of another join.
TEST_P(StreamTest, HandsItsSetsOver) {
  const auto hand_over = [](const auto &input) {
    const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.6);
    StreamedJoin join(spec, small());
    for (const auto &set : side_of(input, small())) add_row(join, small(), set);
    const std::unique_ptr<JoinEngine> engine = make_cpu_engine(spec);
    join.hand_over(*engine);
    for (const auto &set : side_of(input, other(small()))) add_row(*engine, other(small()), set);
    const std::vector<Pair> pairs = pull(*engine);
    EXPECT_EQ(difference(Oracle(input).join(Measure::jaccard, 0.6), pairs), "");
  };
  const Input<int32_t> input = small_sided_input(shape(), small(), 40, 55);
  hand_over(input);
  hand_over(with_tokens<int64_t>(input, [](int32_t token) { return int64_t{token} << 30; }));
  hand_over(with_tokens<std::string>(input, [](int32_t token) { return std::to_string(token); }));
}

// Steps are bounded: a caller that needs one partner of a row pays for a few.
TEST(StreamedJoinTest, ManyPairsComeInSmallBatches) {
  constexpr size_t rows = 64;  // with more, their lists would be too long
  Input<int32_t> input;
  input.left.assign(rows, {1, 2, 3});
  StreamedJoin join(make_spec(Algorithm::automatic, Measure::jaccard, 1.0), Side::left);
  for (const IntSet &set : input.left) add_row(join, Side::left, set);
  ASSERT_TRUE(index(join));
  for (int round = 0; round < 3; ++round) {
    add_row(join, Side::right, IntSet{3, 1, 2});
    Batch batch;
    ASSERT_EQ(join.step(step_budget, batch), StepResult::batch);
    EXPECT_LT(batch.size(), rows);
    EXPECT_TRUE(join.has_more());
    if (round == 0) continue;  // the rest is abandoned
    std::vector<Pair> pairs;
    collect(batch, pairs);
    while (join.step(step_budget, batch) == StepResult::batch) collect(batch, pairs);
    EXPECT_EQ(pairs.size(), rows);
    EXPECT_FALSE(join.has_more());
  }
  std::vector<Pair> pairs;
  stream(join, Side::left, IntSet{}, 0, pairs);
  stream(join, Side::left, IntSet{7, 8, 9}, 0, pairs);
  EXPECT_TRUE(pairs.empty());
}

TEST(StreamedJoinTest, RowsThatAreDoneGetNoMorePairs) {
  constexpr uint32_t rows = 64;
  std::vector<uint8_t> bits(rows / 8 + 1, 0);
  DoneRows done;
  JoinSpec spec = make_spec(Algorithm::automatic, Measure::dice, 0.5);
  spec.done_rows = &done;
  StreamedJoin join(spec, Side::left);
  for (uint32_t row = 0; row < rows; ++row)
    add_row(join, Side::left, IntSet{1, 2, 3, static_cast<int32_t>(10 + row)});
  ASSERT_TRUE(index(join));
  done.bits = bits.data();
  for (uint32_t round = 0; round < 100; ++round) {
    std::vector<Pair> pairs;
    stream(join, Side::left, IntSet{1, 2, 3, 4}, 0, pairs);
    std::set<uint32_t> left;
    for (const Pair &pair : pairs) left.insert(pair.left);
    EXPECT_EQ(left.size(), rows - std::min(round, rows));
    for (uint32_t row : left) EXPECT_FALSE(done.is_done(row));
    if (round < rows) bits[round / 8] |= static_cast<uint8_t>(1 << round % 8);
  }
  // Their postings are removed in the end, so they are no candidates.
  EXPECT_LT(join.stats().left_out, 50u * rows);
}

TEST(StreamedJoinTest, NothingReachesAThresholdThatIsNoNumber) {
  for (double threshold :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1.5}) {
    std::vector<Pair> pairs;
    const Input<int32_t> input = small_sided_input(all_shapes[3], Side::right, 9, 56);
    ASSERT_TRUE(run_streamed(make_spec(Algorithm::automatic, Measure::jaccard, threshold), Side::right, input,
                             pairs));
    EXPECT_TRUE(pairs.empty());
  }
}

TEST(StreamedJoinTest, SmallSidesWithoutTokens) {
  Input<int32_t> input;
  input.left = {{}, {}};
  input.right = {{1, 2}, {}, {3}};
  std::vector<Pair> pairs;
  ASSERT_TRUE(run_streamed(make_spec(Algorithm::automatic, Measure::jaccard, 0.1), Side::left, input, pairs));
  EXPECT_TRUE(pairs.empty());
}

TEST(StreamedJoinTest, ALargeSideIsNotSmall) {
  JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.5);
  spec.memory_limit = size_t{1} << 20;
  RandomSets random(57);
  StreamedJoin join(spec, Side::left);
  EXPECT_TRUE(join.is_small());
  size_t rows = 0;
  for (; join.is_small(); ++rows) {
    ASSERT_LT(rows, 1000u);
    add_row(join, Side::left, random.set(100, 1 << 30));
  }
  EXPECT_GT(rows, 10u);
  EXPECT_LT(join.stats().memory_peak, spec.memory_limit);
}

// Looking sets up takes the longer, the more of the small side each of them meets. A few sets are always
// indexed.
TEST(StreamedJoinTest, SidesWithLongListsAreNotIndexed) {
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.5);
  for (const uint32_t rows : {2000, 50}) {
    bool indexed = true;
    for (const int32_t universe : {1 << 20, 1 << 16, 1 << 12, 1 << 10, 1 << 8, 1 << 6, 1 << 5}) {
      RandomSets random(58);
      StreamedJoin join(spec, Side::left);
      for (uint32_t row = 0; row < rows; ++row) add_row(join, Side::left, random.set(20, universe));
      ASSERT_TRUE(join.is_small());
      const bool indexed_before = std::exchange(indexed, index(join));
      EXPECT_TRUE(indexed_before || !indexed) << universe;
      if (indexed) continue;
      const std::unique_ptr<JoinEngine> engine = make_cpu_engine(spec);
      join.hand_over(*engine);
      EXPECT_EQ(pull(*engine), std::vector<Pair>());
      EXPECT_EQ(engine->set_size(Side::left, rows - 1), 20u);
    }
    EXPECT_EQ(indexed, rows == 50);
  }
}

TEST(StreamedJoinTest, IndexingCanBeStopped) {
  RandomSets random(59);
  StreamedJoin join(make_spec(Algorithm::automatic, Measure::jaccard, 0.5), Side::right);
  for (int row = 0; row < 100; ++row) add_row(join, Side::right, random.set(10, 1000));
  EXPECT_FALSE(join.takes_long_to_index());
  StopFlag stop;
  stop.set();
  EXPECT_THROW(join.index(stop), Cancelled);
  StreamedJoin large(make_spec(Algorithm::automatic, Measure::jaccard, 0.5), Side::right);
  for (int row = 0; row < 1500; ++row) add_row(large, Side::right, random.set(100, 1000));
  EXPECT_TRUE(large.takes_long_to_index());
}

TEST(StreamedJoinTest, TokensOfTwoTypesAreAnError) {
  StreamedJoin join(make_spec(Algorithm::automatic, Measure::jaccard, 0.5), Side::left);
  add_row(join, Side::left, IntSet{});
  add_row(join, Side::left, std::vector<std::string>{"a"});
  EXPECT_THROW(add_row(join, Side::left, IntSet{1}), Error);
}

}  // namespace
}  // namespace simjoin::test
