// The GPU engine against the naive join and against the CPU engine.
#include <limits>
#include <tuple>

#include "gpu/gpu_drive.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

using Strategy = GpuOptions::Strategy;

std::vector<double> thresholds_for(Measure measure) {
  if (measure == Measure::overlap) return {1.0, 2.0, 4.5, 9.0, 18.0, 64.0};
  return {0.05, 0.3, 0.5, 0.55, 0.65, 0.7, 0.8, 0.9, 1.0};
}

constexpr Strategy all_strategies[] = {Strategy::automatic, Strategy::bitmap,  Strategy::prefix,
                                       Strategy::mixed,     Strategy::gssjoin, Strategy::fgssjoin,
                                       Strategy::sf_gssjoin};

std::string name_of(Strategy strategy) {
  constexpr const char *names[] = {"auto", "bitmap", "prefix", "mixed", "gssjoin", "fgssjoin", "sf_gssjoin"};
  return names[static_cast<size_t>(strategy)];
}

GpuOptions with(Strategy strategy) {
  GpuOptions options;
  options.strategy = strategy;
  return options;
}

JoinSpec spec_of(Measure measure, double threshold) {
  return make_spec(Algorithm::automatic, measure, threshold);
}

class GpuShapes : public OnDevice<testing::TestWithParam<std::tuple<Shape, Strategy>>> {
 protected:
  static void expect_oracle_pairs(const Input<int32_t> &input, Strategy strategy) {
    const Oracle<int32_t> oracle(input);
    for (Measure measure : all_measures) {
      for (double threshold : thresholds_for(measure)) {
        EXPECT_EQ(difference(oracle.join(measure, threshold),
                             run_on_gpu(spec_of(measure, threshold), input, with(strategy))),
                  "")
            << test::name_of(measure) << " >= " << threshold;
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Every, GpuShapes,
                         testing::Combine(testing::ValuesIn(all_shapes), testing::ValuesIn(all_strategies)),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  name_of(std::get<1>(info.param));
                         });

TEST_P(GpuShapes, SelfJoinEqualsOracle) {
  const auto &[shape, strategy] = GetParam();
  expect_oracle_pairs(self_input(shape, 1), strategy);
}

TEST_P(GpuShapes, TwoSidedJoinEqualsOracle) {
  const auto &[shape, strategy] = GetParam();
  expect_oracle_pairs(two_sided_input(shape, 2), strategy);
}

class EachStrategy : public OnDevice<testing::TestWithParam<Strategy>> {};

INSTANTIATE_TEST_SUITE_P(Every, EachStrategy, testing::ValuesIn(all_strategies),
                         [](const auto &info) { return name_of(info.param); });

// Row counts around the widths of words, warps and tiles, for two sides and for self-joins.
TEST_P(EachStrategy, RowCountsAboutBlockBorders) {
  constexpr size_t counts[] = {0, 1, 31, 32, 33, 63, 64, 65, 511, 512, 513, 1025};
  RandomSets random(4);
  for (size_t rows : counts) {
    Input<int32_t> input;
    input.left = shapes::near_duplicates(random, rows);
    input.self_join = true;
    const JoinSpec spec = spec_of(Measure::jaccard, 0.5);
    EXPECT_EQ(difference(run(spec, input), run_on_gpu(spec, input, with(GetParam()))), "") << rows << " rows";
    for (size_t other : {size_t{1}, size_t{33}, size_t{600}}) {
      Input<int32_t> two;
      two.left = shapes::tiny_universe(random, rows);
      two.right = shapes::tiny_universe(random, other);
      EXPECT_EQ(difference(run(spec, two), run_on_gpu(spec, two, with(GetParam()))), "")
          << rows << " rows with " << other;
    }
  }
}

// Enough rows for many tiles, and for more candidates than fit at once.
TEST_P(EachStrategy, LargerCollectionsEqualTheCpu) {
  for (const ShapeFunction shape :
       {shapes::skewed, shapes::dense, shapes::near_duplicates, shapes::equal_sets}) {
    RandomSets random(5);
    Input<int32_t> input;
    input.left = shape(random, 5000);
    random.shuffle(input.left);
    input.self_join = true;
    Input<int32_t> two{input.left, shape(random, 3000), false};
    for (const auto &[measure, threshold] : {std::pair{Measure::jaccard, 0.3},
                                             {Measure::jaccard, 0.8},
                                             {Measure::cosine, 0.7},
                                             {Measure::overlap, 6.0},
                                             {Measure::overlap_coefficient, 0.8},
                                             {Measure::containment, 0.8},
                                             {Measure::reverse_containment, 0.6}}) {
      const JoinSpec spec = spec_of(measure, threshold);
      GpuOptions options = with(GetParam());
      options.candidate_capacity = 1;  // the least that the engine works with
      EXPECT_EQ(difference(run(spec, input), run_on_gpu(spec, input, options)), "");
      EXPECT_EQ(difference(run(spec, two), run_on_gpu(spec, two, options)), "");
    }
  }
}

TEST_P(EachStrategy, CandidatesThatDoNotFitAreFoundAgain) {
  RandomSets random(8);
  Input<int32_t> input;
  input.left = shapes::equal_sets(random, 6000);
  input.self_join = true;
  GpuOptions options = with(GetParam());
  options.candidate_capacity = 1;
  GpuFigures figures;
  const JoinSpec spec = spec_of(Measure::jaccard, 0.9);
  EXPECT_EQ(difference(run(spec, input), run_on_gpu(spec, input, options, &figures)), "");
  EXPECT_GT(figures.launches_repeated, 0u);
}

TEST_P(EachStrategy, ThresholdsWithoutAFilter) {
  const Input<int32_t> self = self_input(all_shapes[5], 3), two = two_sided_input(all_shapes[5], 4);
  for (double threshold : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), 1.5}) {
    for (Measure measure : all_measures) {
      const JoinSpec spec = spec_of(measure, threshold);
      EXPECT_EQ(difference(run(spec, self), run_on_gpu(spec, self, with(GetParam()))), "") << threshold;
      EXPECT_EQ(difference(run(spec, two), run_on_gpu(spec, two, with(GetParam()))), "") << threshold;
    }
  }
}

class GpuTokens : public OnDevice<testing::Test> {
 protected:
  template <class Token, class Convert>
  static void expect_same_pairs(Convert &&convert) {
    const Input<int32_t> small = two_sided_input(all_shapes[6], 7);
    Input<Token> input;
    for (const IntSet &set : small.left) {
      input.left.emplace_back();
      for (int32_t token : set) input.left.back().push_back(convert(token));
    }
    for (const IntSet &set : small.right) {
      input.right.emplace_back();
      for (int32_t token : set) input.right.back().push_back(convert(token));
    }
    const JoinSpec spec = spec_of(Measure::jaccard, 0.5);
    const std::vector<Pair> expected = run(spec, small);
    EXPECT_FALSE(expected.empty());
    EXPECT_EQ(difference(expected, run_on_gpu(spec, input)), "");
  }
};

TEST_F(GpuTokens, ScatteredInt4) {
  expect_same_pairs<int32_t>([](int32_t token) { return static_cast<int32_t>(token * 2654435761u); });
}
TEST_F(GpuTokens, NegativeInt4) {
  expect_same_pairs<int32_t>([](int32_t token) { return token - 2500; });
}
TEST_F(GpuTokens, DenseInt8) {
  expect_same_pairs<int64_t>([](int32_t token) { return (int64_t{1} << 40) + token; });
}
TEST_F(GpuTokens, ScatteredInt8) {
  expect_same_pairs<int64_t>(
      [](int32_t token) { return static_cast<int64_t>(static_cast<uint64_t>(token) * 0x9E3779B97F4A7C15u); });
}
TEST_F(GpuTokens, ExtremeInt8) {
  expect_same_pairs<int64_t>([](int32_t token) {
    return token % 2 == 0 ? std::numeric_limits<int64_t>::min() + token / 2
                          : std::numeric_limits<int64_t>::max() - token / 2;
  });
}
TEST_F(GpuTokens, Text) {
  expect_same_pairs<std::string>([](int32_t token) { return "token " + std::to_string(token); });
}

TEST_F(GpuTokens, SetSizesLeaveRepeatsOut) {
  JoinSpec spec = spec_of(Measure::jaccard, 0.1);
  spec.self_join = true;
  const auto engine = make_gpu_engine(spec);
  const IntSets sets = {{1, 2, 2, 3}, {}, {3, 3, 3}, {7}};
  feed_blocks<int32_t>(*engine, {sets, {}, true});
  EXPECT_EQ(pull(*engine), (std::vector<Pair>{{0, 2, 1}}));
  const uint32_t expected[] = {3, 0, 1, 1};
  for (uint32_t row = 0; row < sets.size(); ++row)
    EXPECT_EQ(engine->set_size(Side::left, row), expected[row]);
}

class GpuStats : public OnDevice<testing::Test> {};

TEST_F(GpuStats, CountsEqualTheCpus) {
  for (const Input<int32_t> &input : {self_input(all_shapes[1], 9), two_sided_input(all_shapes[9], 9)}) {
    JoinSpec spec = spec_of(Measure::jaccard, 0.6);
    spec.self_join = input.self_join;
    JoinStats cpu;
    run(spec, input, &cpu);
    const auto engine = make_gpu_engine(spec);
    feed_blocks(*engine, input);
    pull(*engine);
    const JoinStats gpu = engine->stats();
    EXPECT_EQ(gpu.sets[0], cpu.sets[0]);
    EXPECT_EQ(gpu.sets[1], cpu.sets[1]);
    EXPECT_EQ(gpu.tokens[0], cpu.tokens[0]);
    EXPECT_EQ(gpu.tokens[1], cpu.tokens[1]);
    EXPECT_EQ(gpu.distinct_tokens, cpu.distinct_tokens);
    EXPECT_EQ(gpu.pairs, cpu.pairs);
    EXPECT_EQ(gpu.after_length, cpu.after_length);
    EXPECT_EQ(gpu.output, cpu.output);
    EXPECT_GE(gpu.verified, gpu.output);
  }
}

}  // namespace
}  // namespace simjoin::test
