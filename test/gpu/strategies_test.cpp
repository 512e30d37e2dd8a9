// Parts that belong to one strategy: kernels of the bitmap filter, counters of the counting joins, and
// candidates streamed from the CPU.
#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "core/base/error.hpp"
#include "cuda/engine/pair_verifier.hpp"
#include "gpu/gpu_drive.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

using Strategy = GpuOptions::Strategy;

std::string name_of(BitmapKernel kernel) {
  constexpr const char *names[] = {"fastest", "warpgroup", "warp", "popcount"};
  return names[static_cast<size_t>(kernel)];
}

// Returns sets of about `size` tokens with near-duplicates, so that signatures of a certain width are used.
IntSets sets_of_size(RandomSets &random, size_t rows, int32_t size) {
  const int32_t universe = 40 * size;
  IntSets sets;
  while (sets.size() < rows) {
    if (sets.size() % 3 == 2) {
      sets.push_back(random.edited(sets[sets.size() - 2], random.between(0, size / 4), universe));
    } else {
      sets.push_back(random.set(random.between(std::max(1, size / 2), size), universe, 2.0));
    }
  }
  random.shuffle(sets);
  return sets;
}

// Returns sets of `size` / 2 to `size` tokens. Every third set is half one set before and half another.
IntSets long_sets(RandomSets &random, size_t rows, int32_t size, int32_t universe) {
  IntSets sets;
  while (sets.size() < rows) {
    IntSet set = random.set(random.between(size / 2, size), universe, 2.0);
    if (sets.size() % 3 == 2) {
      const IntSet &before = sets[sets.size() - 2];
      set.resize(set.size() / 2);
      set.insert(set.end(), before.begin(), before.begin() + static_cast<ptrdiff_t>(before.size() / 2));
      std::sort(set.begin(), set.end());
      set.erase(std::unique(set.begin(), set.end()), set.end());
    }
    sets.push_back(std::move(set));
  }
  random.shuffle(sets);
  return sets;
}

// Little work, for the compute sanitizer.
Input<int32_t> few_sets() {
  RandomSets random(11);
  return {sets_of_size(random, 150, 30), sets_of_size(random, 100, 30), false};
}

// A kernel, and the partners that it compares with a probe at once.
class EachKernel : public OnDevice<testing::TestWithParam<std::tuple<BitmapKernel, uint32_t>>> {
 protected:
  static GpuOptions options(size_t capacity = 0) {
    GpuOptions options;
    options.strategy = Strategy::bitmap;
    options.bitmap_kernel = std::get<0>(GetParam());
    options.bitmap_group = std::get<1>(GetParam());
    options.candidate_capacity = capacity;
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(Every, EachKernel,
                         testing::Combine(testing::Values(BitmapKernel::warpgroup, BitmapKernel::warp,
                                                          BitmapKernel::popcount),
                                          testing::Values(1u, 3u, 16u)),
                         [](const auto &info) {
                           return name_of(std::get<0>(info.param)) + "_groups_of_" +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST_P(EachKernel, FewSets) {
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.6);
  EXPECT_EQ(difference(run(spec, few_sets()), run_on_gpu(spec, few_sets(), options())), "");
}

TEST_P(EachKernel, FewSetsInTiles) {
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.6);
  GpuOptions tiles = options();
  tiles.tile_rows = 60;
  tiles.workers = 2;
  EXPECT_EQ(difference(run(spec, few_sets()), run_on_gpu(spec, few_sets(), tiles)), "");
}

// With a base of 10 tokens, as at this threshold: 256 and 1024 steps.
TEST_P(EachKernel, FewSetsWithWideSignatures) {
  RandomSets random(16);
  const Input<int32_t> input{long_sets(random, 70, 3500, 1 << 17), long_sets(random, 10, 3500, 1 << 17),
                             false};
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.05);
  EXPECT_EQ(difference(run(spec, input), run_on_gpu(spec, input, options())), "");
}

TEST_P(EachKernel, EveryWidthOfSignatures) {
  // With a base of 70 tokens, as at this threshold: 1, 2, 4, 16 and 64 steps.
  for (int32_t size : {40, 140, 280, 800, 3000}) {
    RandomSets random(static_cast<uint64_t>(size));
    Input<int32_t> input{sets_of_size(random, 700, size), {}, true};
    const Input<int32_t> two{input.left, sets_of_size(random, 530, size), false};
    const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.5);
    const std::vector<Pair> expected = run(spec, input);
    EXPECT_FALSE(expected.empty());
    EXPECT_EQ(difference(expected, run_on_gpu(spec, input, options())), "") << size << " tokens";
    EXPECT_EQ(difference(run(spec, two), run_on_gpu(spec, two, options())), "") << size << " tokens";
    const JoinSpec contained = make_spec(Algorithm::automatic, Measure::containment, 0.6);
    EXPECT_EQ(difference(run(contained, two), run_on_gpu(contained, two, options())), "")
        << size << " tokens";
  }
}

// With a base of 19 tokens, as at this threshold: 256 and 1024 steps. Where the universe is small, each token
// has a bit.
TEST_P(EachKernel, WideSignaturesOfLongSets) {
  for (const auto &[size, universe] : {std::pair{3000, 1 << 19}, {10000, 1 << 19}, {10000, 20000}}) {
    RandomSets random(static_cast<uint64_t>(size));
    const IntSets sets = long_sets(random, 220, size, universe);
    const Input<int32_t> input{sets, {}, true}, two{sets, long_sets(random, 70, size, universe), false};
    const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.1);
    const std::vector<Pair> expected = run(spec, input);
    EXPECT_FALSE(expected.empty());
    GpuFigures figures;
    EXPECT_EQ(difference(expected, run_on_gpu(spec, input, options(), &figures)), "") << size << " tokens";
    EXPECT_LE(figures.candidates, expected.size() * 11 / 10) << size << " tokens";
    EXPECT_EQ(difference(run(spec, two), run_on_gpu(spec, two, options())), "") << size << " tokens";
    const JoinSpec contained = make_spec(Algorithm::automatic, Measure::containment, 0.4);
    EXPECT_EQ(difference(run(contained, two), run_on_gpu(contained, two, options())), "")
        << size << " tokens";
  }
}

TEST_P(EachKernel, ManyTilesAndStages) {
  RandomSets random(12);
  const Input<int32_t> input{sets_of_size(random, 20000, 30), {}, true};
  for (const auto &[measure, threshold] :
       {std::pair{Measure::jaccard, 0.7}, {Measure::cosine, 0.6}, {Measure::overlap_coefficient, 0.8}}) {
    const JoinSpec spec = make_spec(Algorithm::automatic, measure, threshold);
    const std::vector<Pair> expected = run(spec, input);
    EXPECT_EQ(difference(expected, run_on_gpu(spec, input, options())), "");
    EXPECT_EQ(difference(expected, run_on_gpu(spec, input, options(1))), "");
  }
}

// Every pair of a tile survives the filter: queues overflow.
TEST_P(EachKernel, EqualSetsEverywhere) {
  RandomSets random(13);
  const IntSet set = random.set(20, 1000);
  const Input<int32_t> input{IntSets(1500, set), {}, true};
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::dice, 0.9);
  EXPECT_EQ(run_on_gpu(spec, input, options()).size(), 1500u * 1499u / 2);
}

// A universe with no more tokens than bits, so that the counts are overlaps.
TEST_P(EachKernel, SmallUniverse) {
  RandomSets random(14);
  for (int32_t universe : {3, 100, 256, 257, 512, 1024}) {
    Input<int32_t> input;
    input.self_join = true;
    const int32_t largest = std::min(universe, universe > 256 ? 250 : 40);
    for (int i = 0; i < 600; ++i) input.left.push_back(random.set(random.between(1, largest), universe));
    for (double threshold : {0.3, 0.6}) {
      const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, threshold);
      EXPECT_EQ(difference(run(spec, input), run_on_gpu(spec, input, options())), "")
          << universe << " tokens, " << threshold;
    }
  }
}

// Few pairs of random sets pass the filter even at low thresholds, because signatures are wide enough.
TEST_P(EachKernel, LowThresholds) {
  RandomSets random(15);
  Input<int32_t> input;
  input.self_join = true;
  for (int i = 0; i < 10000; ++i) input.left.push_back(random.set(random.between(40, 60), 1 << 20));
  const double pairs = 10000.0 * 9999 / 2;
  for (const auto &[measure, threshold] : {std::pair{Measure::jaccard, 0.3},
                                           {Measure::dice, 0.2},
                                           {Measure::jaccard, 0.05},
                                           {Measure::overlap, 5.0}}) {
    const JoinSpec spec = make_spec(Algorithm::automatic, measure, threshold);
    GpuFigures figures;
    EXPECT_EQ(difference(run(spec, input), run_on_gpu(spec, input, options(), &figures)), "");
    EXPECT_LT(static_cast<double>(figures.candidates), pairs / 100) << threshold;
  }
}

class GpuGroups : public OnDevice<testing::Test> {};

// Enough sets for a sample, by which groups are worth their while.
TEST_F(GpuGroups, ASampleChoosesThem) {
  RandomSets random(18);
  Input<int32_t> input{{}, {}, true};
  for (int i = 0; i < 80000; ++i) {
    const bool edits = i % 8 == 7;
    input.left.push_back(edits ? random.edited(input.left[i - 3], 4, 1 << 14)
                               : random.set(random.between(40, 44), 1 << 14, 2.0));
  }
  GpuOptions sampled;
  sampled.strategy = Strategy::bitmap;
  sampled.bitmap_kernel = BitmapKernel::popcount;
  for (double threshold : {0.9, 0.6}) {
    const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, threshold);
    GpuFigures figures;
    const std::vector<Pair> expected = run(spec, input);
    EXPECT_FALSE(expected.empty());
    EXPECT_EQ(difference(expected, run_on_gpu(spec, input, sampled, &figures)), "");
    EXPECT_LT(figures.filter_bit_pairs, 200 * figures.filter_pairs) << "256 bits a pair without groups";
  }
}

// Dense sets, of which nearly all groups pass. The rest of the range is compared pair by pair, from the
// middle of a tile on.
TEST_F(GpuGroups, TooManyThatPassAreGivenUp) {
  RandomSets random(19);
  Input<int32_t> input{{}, {}, true};
  for (int i = 0; i < 40000; ++i) {
    input.left.push_back(i % 50 == 49 ? random.edited(input.left[i - 7], 4, 300)
                                      : random.set(random.between(95, 105), 300));
  }
  const Input<int32_t> two{input.left, {input.left.begin() + 1000, input.left.end()}, false};
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.8);
  GpuOptions options;
  options.strategy = Strategy::bitmap;
  options.bitmap_group = 8;
  for (const Input<int32_t> &sets : {input, two}) {
    GpuFigures figures;
    const std::vector<Pair> expected = run(spec, sets);
    EXPECT_FALSE(expected.empty());
    EXPECT_EQ(difference(expected, run_on_gpu(spec, sets, options, &figures)), "");
    EXPECT_GT(figures.launches_repeated, 0u);
    EXPECT_LT(figures.filter_ms, 1000);
  }
}

class WithAnIndex : public OnDevice<testing::TestWithParam<Strategy>> {};

INSTANTIATE_TEST_SUITE_P(Every, WithAnIndex, testing::Values(Strategy::prefix, Strategy::mixed),
                         [](const auto &info) {
                           return info.param == Strategy::prefix ? "prefix" : "mixed";
                         });

TEST_P(WithAnIndex, FewSets) {
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.6);
  const Input<int32_t> self{few_sets().left, {}, true};
  for (const uint32_t tile_rows : {0u, 60u}) {
    GpuOptions options;
    options.strategy = GetParam();
    options.tile_rows = tile_rows;
    EXPECT_EQ(difference(run(spec, few_sets()), run_on_gpu(spec, few_sets(), options)), "");
    EXPECT_EQ(difference(run(spec, self), run_on_gpu(spec, self, options)), "");
  }
}

// Sets so long and candidates so many that verification takes several launches.
TEST_P(WithAnIndex, ManyCandidatesOfLongSets) {
  RandomSets random(17);
  const IntSet set = random.set(3000, 1 << 20);
  Input<int32_t> input{{}, {}, true};
  while (input.left.size() < 900) input.left.push_back(random.edited(set, 40, 1 << 20));
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.9);
  GpuOptions options;
  options.strategy = GetParam();
  EXPECT_EQ(difference(run(spec, input), run_on_gpu(spec, input, options)), "");
}

class CountingJoins : public OnDevice<testing::TestWithParam<Strategy>> {
 protected:
  static GpuOptions options() {
    GpuOptions options;
    options.strategy = GetParam();
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(Every, CountingJoins,
                         testing::Values(Strategy::gssjoin, Strategy::fgssjoin, Strategy::sf_gssjoin),
                         [](const auto &info) {
                           return info.param == Strategy::gssjoin    ? "gssjoin"
                                  : info.param == Strategy::fgssjoin ? "fgssjoin"
                                                                     : "sf_gssjoin";
                         });

TEST_P(CountingJoins, FewSets) {
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.6);
  EXPECT_EQ(difference(run(spec, few_sets()), run_on_gpu(spec, few_sets(), options())), "");
}

// More partners than one block has counters, in lists that hold all of them.
TEST_P(CountingJoins, MorePartnersThanCounters) {
  RandomSets random(15);
  Input<int32_t> input;
  input.self_join = true;
  for (int32_t i = 0; i < 80000; ++i) {
    IntSet set = {0, 1};
    for (int k = 0; k < 2; ++k) set.push_back(random.between(2, 30000));
    input.left.push_back(set);
  }
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.7);
  EXPECT_EQ(difference(run(spec, input), run_on_gpu(spec, input, options())), "");
}

// Counters of 8, 16 and 32 bits.
TEST_P(CountingJoins, LongProbes) {
  RandomSets random(16);
  Input<int32_t> input;
  input.self_join = true;
  for (int32_t size : {200, 255, 256, 300, 40000, 65535, 65536, 70000}) {
    for (int i = 0; i < 6; ++i) {
      IntSet set(static_cast<size_t>(size));
      for (int32_t k = 0; k < size; ++k) set[static_cast<size_t>(k)] = k + 50 * i;
      input.left.push_back(set);
    }
  }
  // Enough sets with a frequent token that a hash table is too small.
  for (int32_t i = 0; i < 6000; ++i) input.left.push_back({0, 1, 2, random.between(3, 60000)});
  for (double threshold : {0.65, 0.95}) {
    const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, threshold);
    EXPECT_EQ(difference(run(spec, input), run_on_gpu(spec, input, options())), "") << threshold;
  }
}

TEST_P(CountingJoins, EveryCallCanFail) {
  const Input<int32_t> input = two_sided_input(all_shapes[3], 1);
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.6);
  const std::vector<Pair> expected = run_on_gpu(spec, input, options());
  const auto run = [&] { EXPECT_EQ(difference(expected, run_on_gpu(spec, input, options())), ""); };
  fail_each_call(1, run, [] {});  // if memory runs out, the join may continue in tiles
  run();
}

// Tests what `auto` does, not how long it takes.
class GpuChoice : public OnDevice<testing::Test> {
 protected:
  struct Outcome {
    JoinStats stats;
    GpuFigures figures;
  };
  static Outcome join(const IntSets &sets, double threshold) {
    JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, threshold);
    spec.self_join = true;
    const auto engine = make_gpu_engine(spec);
    feed_blocks<int32_t>(*engine, {sets, {}, true});
    pull(*engine);
    EXPECT_FALSE(engine->stats().reasons.empty());
    return {engine->stats(), engine->figures()};
  }
};

TEST_F(GpuChoice, LongSetsNeedNoIndex) {
  RandomSets random(41);
  IntSets sets;
  while (sets.size() < 120000) sets.push_back(random.set(40, 4000, 2.0));
  const Outcome outcome = join(sets, 0.6);
  EXPECT_TRUE(outcome.stats.used_bitmap);
  EXPECT_FALSE(outcome.stats.used_prefix);
  EXPECT_EQ(outcome.figures.index_ms, 0);
}

TEST_F(GpuChoice, ManyTinySetsAreIndexed) {
  RandomSets random(42);
  IntSets sets;
  while (sets.size() < 400000) sets.push_back(random.set(3, 200000));
  const Outcome outcome = join(sets, 0.9);
  EXPECT_TRUE(outcome.stats.used_prefix);
  EXPECT_FALSE(outcome.stats.used_bitmap);
  EXPECT_LT(outcome.figures.list_entries, 1e8);
}

// Pairs that are verified by a block each. They have more tokens than the widest signature has bits, because
// a bit for each token would make the bitmap exact.
class LongPairs : public OnDevice<testing::TestWithParam<Strategy>> {};

INSTANTIATE_TEST_SUITE_P(Every, LongPairs, testing::Values(Strategy::bitmap, Strategy::fgssjoin),
                         [](const auto &info) {
                           return info.param == Strategy::bitmap ? "bitmap" : "fgssjoin";
                         });

TEST_P(LongPairs, FewSetsThatAreLong) {
  constexpr int32_t universe = 1 << 20;
  RandomSets random(18);
  Input<int32_t> input;
  for (int original = 0; original < 10; ++original) {
    const IntSet set = random.set(2500, universe);
    for (int copy = 0; copy < 4; ++copy) input.left.push_back(random.edited(set, 60 * copy, universe));
    for (int copy = 0; copy < 3; ++copy) input.right.push_back(random.edited(set, 100 * copy, universe));
  }
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.85);
  GpuOptions options;
  options.strategy = GetParam();
  for (const Input<int32_t> &sets : {input, Input<int32_t>{input.left, {}, true}}) {
    const std::vector<Pair> expected = run(spec, sets);
    EXPECT_FALSE(expected.empty());
    EXPECT_EQ(difference(expected, run_on_gpu(spec, sets, options)), "");
  }
}

class CpuGpu : public OnDevice<testing::Test> {
 protected:
  void TearDown() override { fail_device_call(0, false); }

  template <class Token>
  static std::vector<Pair> run_on_both(JoinSpec spec, const Input<Token> &input, JoinStats *stats = nullptr) {
    spec.algorithm = Algorithm::cpu_gpu;
    spec.self_join = input.self_join;
    const auto engine = make_cpu_engine(spec, make_gpu_verifier(0));
    feed_blocks(*engine, input);
    std::vector<Pair> pairs = pull(*engine);
    if (stats != nullptr) *stats = engine->stats();
    return pairs;
  }
};

TEST_F(CpuGpu, FewSets) {
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.6);
  EXPECT_EQ(difference(run(spec, few_sets()), run_on_both(spec, few_sets())), "");
}

TEST_F(CpuGpu, EveryShapeEqualsTheOracle) {
  for (const Shape &shape : all_shapes) {
    for (const Input<int32_t> &input : {self_input(shape, 21), two_sided_input(shape, 22)}) {
      const Oracle<int32_t> oracle(input);
      for (Measure measure : all_measures) {
        for (double threshold : {0.0, 0.5, 0.8, 3.0}) {
          const JoinSpec spec = make_spec(Algorithm::cpu_gpu, measure, threshold);
          EXPECT_EQ(difference(oracle.join(measure, threshold), run_on_both(spec, input)), "")
              << shape.name << ", " << test::name_of(measure) << " >= " << threshold;
        }
      }
    }
  }
}

// Several threads, chunks of candidates one after another, and either side indexed.
TEST_F(CpuGpu, ManyChunks) {
  RandomSets random(23);
  const Input<int32_t> self{shapes::skewed(random, 14000), {}, true};
  const Input<int32_t> small_left{shapes::skewed(random, 4000), self.left, false};
  const Input<int32_t> small_right{self.left, small_left.left, false};
  for (const Input<int32_t> *input : {&self, &small_left, &small_right}) {
    const JoinSpec spec = make_spec(Algorithm::cpu_gpu, Measure::jaccard, 0.3, 4);
    JoinStats stats;
    EXPECT_EQ(difference(run(make_spec(Algorithm::automatic, Measure::jaccard, 0.3), *input),
                         run_on_both(spec, *input, &stats)),
              "");
    EXPECT_GT(stats.verified, uint64_t{1} << 20);
    EXPECT_GE(stats.verified, stats.output);
    EXPECT_NE(stats.device, "cpu");
  }
}

TEST_F(CpuGpu, EveryCallCanFail) {
  const Input<int32_t> input = two_sided_input(all_shapes[3], 1);
  const JoinSpec spec = make_spec(Algorithm::cpu_gpu, Measure::jaccard, 0.6);
  const std::vector<Pair> expected = run_on_both(spec, input);
  const auto run = [&] { EXPECT_EQ(difference(expected, run_on_both(spec, input)), ""); };
  fail_each_call(10, run);
  run();
}

TEST_F(CpuGpu, AbandonedJoinsEndSoon) {
  RandomSets random(24);
  const IntSets sets = shapes::skewed(random, 20000);
  JoinSpec spec = make_spec(Algorithm::cpu_gpu, Measure::jaccard, 0.1);
  spec.self_join = true;
  for (int steps : {0, 1, 3, 10, 30}) {
    auto engine = make_cpu_engine(spec, make_gpu_verifier(0));
    feed_blocks<int32_t>(*engine, {sets, {}, true});
    Batch batch;
    for (int i = 0; i < steps; ++i) engine->step(std::chrono::milliseconds(1), batch);
    const auto begin = std::chrono::steady_clock::now();
    engine.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(100)) << steps << " steps";
  }
}

}  // namespace
}  // namespace simjoin::test
