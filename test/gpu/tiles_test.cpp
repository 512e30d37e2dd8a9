// Joins in tiles: larger than their memory limit, or shared by several workers.
#include <atomic>
#include <climits>
#include <tuple>

#include "core/base/error.hpp"
#include "core/base/host_pieces.hpp"
#include "core/base/thread_budget.hpp"
#include "gpu/gpu_drive.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

class GpuTiles : public OnDevice<testing::TestWithParam<std::tuple<Shape, int>>> {
 protected:
  // Joins in tiles of several sizes, down to one row, and expects the CPU's pairs.
  static void expect_cpu_pairs(const Input<int32_t> &input, int workers) {
    for (const auto &[measure, threshold] : {std::pair{Measure::jaccard, 0.5},
                                             {Measure::overlap, 3.0},
                                             {Measure::overlap_coefficient, 0.7},
                                             {Measure::containment, 0.7}}) {
      const JoinSpec spec = make_spec(Algorithm::automatic, measure, threshold);
      const std::vector<Pair> expected = run(spec, input);
      const auto rows = static_cast<uint32_t>(input.left.size());
      for (const uint32_t tile_rows : {rows / 2 + 1, rows / 5 + 1}) {
        GpuOptions options;
        options.tile_rows = tile_rows;
        options.workers = workers;
        GpuFigures figures;
        EXPECT_EQ(difference(expected, run_on_gpu(spec, input, options, &figures)), "")
            << test::name_of(measure) << " >= " << threshold << ", tiles of " << tile_rows;
        EXPECT_GE(figures.tile_pairs, 1u);
        if (tile_rows < rows / 2) {
          EXPECT_GE(figures.tile_pairs, 3u);
        }
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Every, GpuTiles,
                         testing::Combine(testing::ValuesIn(all_shapes), testing::Values(1, 3)),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param).name) + "_by_" +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST_P(GpuTiles, SelfJoinEqualsTheCpu) {
  const auto &[shape, workers] = GetParam();
  expect_cpu_pairs(self_input(shape, 11), workers);
}

TEST_P(GpuTiles, TwoSidedJoinEqualsTheCpu) {
  const auto &[shape, workers] = GetParam();
  expect_cpu_pairs(two_sided_input(shape, 12), workers);
}

class GpuTileMemory : public OnDevice<testing::Test> {};

// With little device memory the first tiles are too large and are cut again. The pairs are the same.
TEST_F(GpuTileMemory, LargerThanTheLimit) {
  RandomSets random(13);
  Input<int32_t> input;
  input.left = shapes::near_duplicates(random, 60000);
  random.shuffle(input.left);
  input.self_join = true;
  const Input<int32_t> two{input.left, {input.left.begin(), input.left.begin() + 20000}, false};
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.7);
  for (const Input<int32_t> &sets : {input, two}) {
    const std::vector<Pair> expected = run(spec, sets);
    ASSERT_FALSE(expected.empty());
    for (const size_t limit : {size_t{96} << 20, size_t{24} << 20}) {
      GpuOptions options;
      options.memory_limit = limit;
      GpuFigures figures;
      EXPECT_EQ(difference(expected, run_on_gpu(spec, sets, options, &figures)), "");
      EXPECT_LE(figures.device_memory_peak, limit);
      if (limit < size_t{32} << 20) {
        EXPECT_GT(figures.tile_pairs, 1u);
      }
    }
  }
}

// Tokens all over the range take more memory than planned. The first tiles fail, and tiles as large are not
// tried.
TEST_F(GpuTileMemory, ScatteredTokens) {
  RandomSets random(18);
  Input<int32_t> input{{}, {}, true};
  constexpr int32_t universe = INT32_MAX;
  while (input.left.size() < 40000) {
    input.left.push_back(input.left.size() % 3 == 2 ? random.edited(input.left.end()[-2], 2, universe)
                                                    : random.set(24, universe));
  }
  random.shuffle(input.left);
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.7);
  GpuOptions options;
  options.memory_limit = size_t{12} << 20;
  GpuFigures figures;
  EXPECT_EQ(difference(run(spec, input), run_on_gpu(spec, input, options, &figures)), "");
  EXPECT_LE(figures.device_memory_peak, options.memory_limit);
  EXPECT_GT(figures.tile_pairs, 10u);
  EXPECT_GT(figures.tile_pairs_failed, 0u);
  EXPECT_LE(figures.tile_pairs_failed, 5u);
}

// A threshold that every pair satisfies, empty sets included.
TEST_F(GpuTileMemory, EveryPair) {
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::dice, 0.0);
  for (const Input<int32_t> &input : {self_input(all_shapes[5], 16), two_sided_input(all_shapes[5], 17)}) {
    GpuOptions options;
    options.tile_rows = static_cast<uint32_t>(input.left.size() / 3);
    options.workers = 2;
    EXPECT_EQ(difference(run(spec, input), run_on_gpu(spec, input, options)), "");
  }
}

// Workers beyond the first are threads of the server's budget, and fewer if it is used up. The device's name
// begins with their number, and that of one GPU with NVIDIA.
TEST_F(GpuTileMemory, BudgetOfThreads) {
  const Input<int32_t> input = self_input(all_shapes[5], 16);
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.5);
  const std::vector<Pair> expected = run(spec, input);
  GpuOptions options;
  options.tile_rows = static_cast<uint32_t>(input.left.size() / 3);
  options.workers = 4;
  std::atomic<int> running = 0;
  set_thread_count(&running);
  for (const auto &[limit, devices] : {std::pair{0, 'N'}, {1, '2'}, {5, '4'}}) {
    set_thread_limit(limit);
    GpuFigures figures;
    EXPECT_EQ(difference(expected, run_on_gpu(spec, input, options, &figures)), "");
    EXPECT_EQ(figures.device.front(), devices) << figures.device;
    EXPECT_EQ(running, 0);
  }
  set_thread_count(nullptr);
  set_thread_limit(INT_MAX);
}

// Sizes do not count repeated tokens, for rows of all tiles.
TEST_F(GpuTileMemory, SetSizes) {
  JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.1);
  spec.self_join = true;
  GpuOptions options;
  options.tile_rows = 2;
  const auto engine = make_gpu_engine(spec, options);
  EXPECT_EQ(engine->share_done(), unknown_share);
  const IntSets sets = {{1, 2, 2, 3}, {}, {3, 3, 3}, {7}, {1, 2, 3}};
  feed_blocks<int32_t>(*engine, {sets, {}, true});
  EXPECT_EQ(pull(*engine), (std::vector<Pair>{{0, 2, 1}, {0, 4, 3}, {2, 4, 1}}));
  EXPECT_EQ(engine->share_done(), 1);
  const uint32_t expected[] = {3, 0, 1, 1, 3};
  for (uint32_t row = 0; row < sets.size(); ++row)
    EXPECT_EQ(engine->set_size(Side::left, row), expected[row]);
  const JoinStats stats = engine->stats();
  EXPECT_EQ(stats.sets[0], 4u);
  EXPECT_EQ(stats.tokens[0], 8u);
  EXPECT_EQ(stats.distinct_tokens, 0u);  // not known
  EXPECT_EQ(stats.pairs, 10u);
}

// Beyond the memory limit the sets are not kept. One join on the device works, and tiles are not possible.
TEST_F(GpuTileMemory, WithoutTheSetsInHostMemory) {
  RandomSets random(14);
  Input<int32_t> input;
  input.left = shapes::near_duplicates(random, 60000);
  input.self_join = true;
  JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.7);
  const std::vector<Pair> expected = run(spec, input);
  spec.memory_limit = size_t{1} << 16;
  EXPECT_EQ(difference(expected, run_on_gpu(spec, input)), "");
  GpuOptions options;
  options.memory_limit = size_t{4} << 20;
  EXPECT_THROW(run_on_gpu(spec, input, options), Error);
}

// So many tiles that their pairs would fill the host's memory.
TEST_F(GpuTileMemory, AlmostNone) {
  const Input<int32_t> input{IntSets(20000, {1, 2, 3}), {}, true};
  GpuOptions options;
  options.memory_limit = 1024;
  try {
    run_on_gpu(make_spec(Algorithm::automatic, Measure::jaccard, 0.7), input, options);
    FAIL() << "no error";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
    EXPECT_FALSE(error.hint().empty());
  }
}

// The process keeps the page-locked memory of the sets for its next join.
TEST_F(GpuTileMemory, HostMemoryIsUsedAgain) {
  const Input<int32_t> input = self_input(all_shapes[1], 15);
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.7);
  run_on_gpu(spec, input);
  const size_t kept = HostPieces::of_process().kept();
  EXPECT_GT(kept, 0u);
  run_on_gpu(spec, input);
  EXPECT_EQ(HostPieces::of_process().kept(), kept);
}

}  // namespace
}  // namespace simjoin::test
