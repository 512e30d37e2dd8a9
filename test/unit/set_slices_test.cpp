// Joins whose sets come several at a time, and what joins refuse.
#include "core/set_slices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/lsh/lsh_join.hpp"
#include "core/sets/set_blocks.hpp"
#include "core/stream/streamed_join.hpp"
#include "core/weighted/weighted_join.hpp"
#include "unit/drive.hpp"
#include "unit/random_sets.hpp"
#include "unit/slices.hpp"
#include "unit/typed_tokens.hpp"
#include "unit/weighted_oracle.hpp"

namespace simjoin::test {
namespace {

// Distinct tokens, ascending if they are integers: also for joins of sets with weights.
template <class Token>
Input<Token> plain_sets() {
  RandomSets random(31);
  Input<Token> input;
  for (int row = 0; row < 600; ++row) {
    IntSet set =
        row % 4 == 3 ? random.edited(random.set(12, 40), 1, 40) : random.set(random.between(0, 12), 40);
    std::sort(set.begin(), set.end());
    Sets<Token> &side = row % 2 == 0 ? input.left : input.right;
    std::vector<Token> &tokens = side.emplace_back();
    for (const int32_t token : set) {
      if constexpr (std::is_integral_v<Token>)
        tokens.push_back(token);
      else
        tokens.push_back(std::string(static_cast<size_t>(token % 6), 'x') + std::to_string(token));
    }
  }
  return input;
}

// Adds the sets to both engines, to one of them several at a time, and expects the same pairs.
template <class Token>
void expect_same(const auto &make, bool weighted = false) {
  const Input<Token> input = plain_sets<Token>();
  const std::unique_ptr<JoinEngine> one_by_one = make(), sliced = make();
  size_t slices = 0;
  for (const Side side : {Side::left, Side::right}) {
    const Sets<Token> &sets = side == Side::left ? input.left : input.right;
    add_in_slices(
        *one_by_one, side, sets, [] { return 1; }, weighted);
    add_in_slices(
        *sliced, side, sets, [&] { return slices++ * 5 % 9; }, weighted);
  }
  const std::vector<Pair> expected = pull(*one_by_one);
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(difference(expected, pull(*sliced)), "");
}

template <class Token>
class SetSlices : public testing::Test {};
using TokenTypes = testing::Types<int32_t, int64_t, std::string>;
TYPED_TEST_SUITE(SetSlices, TokenTypes);

TYPED_TEST(SetSlices, OfAJoinOnTheCpu) {
  for (const size_t limit : {size_t{1} << 30, size_t{1}}) {
    expect_same<TypeParam>([&] {
      JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.6);
      spec.memory_limit = limit;
      return make_cpu_engine(spec);
    });
  }
}

TYPED_TEST(SetSlices, OfAJoinByBands) {
  for (const bool verify : {true, false}) {
    expect_same<TypeParam>([&] {
      LshSpec spec;
      spec.threshold = 0.6;
      spec.verify = verify;
      spec.threads = 2;
      return make_lsh_join(spec);
    });
  }
}

TYPED_TEST(SetSlices, OfAJoinOfSetsWithWeights) {
  expect_same<TypeParam>(
      [] { return make_weighted_join(make_spec(Algorithm::automatic, Measure::jaccard, 0.6)); }, true);
  expect_same<TypeParam>(
      [] {
        LshSpec spec;
        spec.threshold = 0.6;
        spec.weighted = true;
        spec.threads = 2;
        return make_lsh_join(spec);
      },
      true);
}

TYPED_TEST(SetSlices, OfASmallSide) {
  const Input<TypeParam> input = plain_sets<TypeParam>();
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.6);
  StreamedJoin join(spec, Side::left);
  add_in_slices(join, Side::left, input.left, [] { return 50; });
  const std::unique_ptr<JoinEngine> ranked = make_cpu_engine(spec), expected = make_cpu_engine(spec);
  join.hand_over(*ranked);
  feed(*expected, input);
  for (const auto &set : input.right) add_row(*ranked, Side::right, set);
  EXPECT_EQ(difference(pull(*expected), pull(*ranked)), "");
}

void expect_error(ErrorKind kind, const auto &call) {
  try {
    call();
    ADD_FAILURE() << "no error";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), kind);
  }
}

void expect_internal_error(const auto &call) {
  expect_error(ErrorKind::internal, call);
}

TEST(RefusedSlices, SetsWithWeightsWhereNoneAreExpectedAndWithout) {
  const int32_t token = 1;
  const uint32_t count = 1;
  const double weight = 1;
  const std::span<const int32_t> set(&token, 1);
  LshSpec bands, weighted_bands;
  weighted_bands.weighted = true;
  const std::unique_ptr<JoinEngine> plain[] = {make_cpu_engine({}), make_engine({}), make_lsh_join(bands),
                                               std::make_unique<StreamedJoin>(JoinSpec(), Side::left)};
  for (const auto &join : plain)
    expect_internal_error([&] { join->add(Side::left, row_of(set, count, &weight)); });
  const std::unique_ptr<JoinEngine> weighted[] = {make_weighted_join({}), make_lsh_join(weighted_bands)};
  for (const auto &join : weighted) {
    expect_internal_error([&] { join->add(Side::left, row_of(set, count)); });
  }
}

// Calls check(join, rows) for a self-join of each kind and a row that it takes.
void for_self_joins(const auto &check) {
  JoinSpec spec;
  spec.self_join = true;
  LshSpec bands;
  bands.self_join = true;
  LshSpec weighted_bands = bands;
  weighted_bands.weighted = true;
  static const int32_t token = 1;
  static const uint32_t count = 1;
  static const double weight = 1;
  const std::span<const int32_t> set(&token, 1);
  for (const auto &join : {make_cpu_engine, make_engine}) check(*join(spec), row_of(set, count));
  check(*make_lsh_join(bands), row_of(set, count));
  check(*make_weighted_join(spec), row_of(set, count, &weight));
  check(*make_lsh_join(weighted_bands), row_of(set, count, &weight));
}

TEST(RefusedSlices, OnTheRightOfASelfJoin) {
  for_self_joins([](JoinEngine &join, const SetSlice &rows) {
    join.add(Side::left, rows);
    expect_internal_error([&] { join.add(Side::right, rows); });
  });
}

TEST(RefusedSlices, AfterTheFirstStep) {
  for_self_joins([](JoinEngine &join, const SetSlice &rows) {
    join.add(Side::left, rows);
    pull(join);
    expect_internal_error([&] { join.add(Side::left, rows); });
  });
}

TEST(RefusedSlices, WithARowOfTooManyTokens) {
  for_self_joins([](JoinEngine &join, SetSlice rows) {
    const uint32_t too_many = UINT32_MAX;
    rows.lengths = &too_many;
    rows.token_count = too_many;
    expect_error(ErrorKind::limit_exceeded, [&] { join.add(Side::left, rows); });
  });
}

class BlocksOnly final : public JoinEngine {
 public:
  StepResult step(std::chrono::microseconds, Batch &) override { return StepResult::done; }
  uint32_t set_size(Side, uint32_t) const override { return 0; }
  JoinStats stats() const override { return {}; }
};

TEST(RefusedSlices, WhereAJoinTakesBlocksOnlyOrNone) {
  expect_internal_error([] { BlocksOnly().add(Side::left, {}); });
  expect_internal_error([] { make_weighted_join({})->add_block(nullptr); });
}

}  // namespace
}  // namespace simjoin::test
