// Collections of unusual shapes: very long sets, long runs of rows, and ranks without tokens. Also indexes of
// a part of the sets.
#include <algorithm>
#include <iostream>
#include <numeric>

#include "cuda/filters/prefix_join.hpp"
#include "cuda/sets/collection.hpp"
#include "gpu/gpu_drive.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

class GpuBuilds : public OnDevice<testing::Test> {
 protected:
  // Checks the pairs of all strategies against the CPU's.
  static void check_all(const Input<int32_t> &input, double threshold) {
    JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, threshold);
    spec.device = Device::cpu;
    const std::vector<Pair> expected = run(spec, input);
    EXPECT_FALSE(expected.empty());
    using Strategy = GpuOptions::Strategy;
    for (const Strategy strategy : {Strategy::automatic, Strategy::bitmap, Strategy::prefix, Strategy::mixed,
                                    Strategy::gssjoin, Strategy::fgssjoin}) {
      GpuOptions options;
      options.strategy = strategy;
      EXPECT_EQ(difference(expected, run_on_gpu(spec, input, options)), "") << static_cast<int>(strategy);
    }
  }

  static IntSet run_of(int32_t first, int32_t count) {
    IntSet set(static_cast<size_t>(count));
    std::iota(set.begin(), set.end(), first);
    return set;
  }
};

// Sizes around the one from which a block replaces a warp. The sets share all tokens but a few.
TEST_F(GpuBuilds, SetsAboutAsLongAsAWarpDoes) {
  Input<int32_t> input;
  input.self_join = true;
  for (int32_t size = (1 << 14) - 3; size <= (1 << 14) + 3; ++size) {
    for (int32_t first : {0, 7, 5000, 16000}) input.left.push_back(run_of(first, size));
    input.left.push_back({size, 1, 2});
  }
  check_all(input, 0.5);
  input.self_join = false;
  input.right = {input.left.begin() + 3, input.left.begin() + 20};
  check_all(input, 0.9);
}

// A few long sets among very many rows without any token, at both ends and in between.
TEST_F(GpuBuilds, LongRunsOfEmptyRows) {
  Input<int32_t> input;
  input.self_join = true;
  for (int32_t set = 0; set < 6; ++set) {
    input.left.resize(input.left.size() + 700'000);
    input.left.push_back(run_of(100 * set, 20'000));
  }
  input.left.resize(input.left.size() + 700'000);
  check_all(input, 0.95);
}

// Tokens of probes that no partner has are ranks without a list, in one long run and in many short ones.
TEST_F(GpuBuilds, LongRunsOfUnusedRanks) {
  Input<int32_t> input;
  for (int32_t i = 0; i < 400; ++i) {
    input.left.push_back(run_of(i / 2 * 5'000, 5'000));  // each token twice, so that it has a rank
    if (i % 50 == 0) input.right.push_back(run_of(i / 2 * 5'000 + 100, 4'900));
  }
  check_all(input, 0.9);
}

// An index up to a border has the entries that the whole index has for the probes before it.
TEST_F(GpuBuilds, AnIndexEndsAtABorder) {
  RandomSets random(9);
  const IntSets left = shapes::skewed(random, 1500), right = shapes::skewed(random, 1000);
  gpu::use_device(0);
  gpu::Device device(0, 0);
  const StopFlag running;
  for (const bool self_join : {true, false}) {
    const auto partners = self_join ? nullptr : uploaded(device, right);
    const gpu::DeviceCollection collection =
        gpu::build_collection(device, uploaded(device, left).get(), partners.get(), {70}, running);
    const gpu::DeviceSide &probes = collection.sides[0];
    for (const double threshold : {0.4, 0.8}) {
      const Bounds bounds(Measure::jaccard, threshold);
      const gpu::DevicePrefixIndex whole(device, bounds, collection, self_join, probes.sets, running);
      EXPECT_EQ(whole.end_partner(), collection.sides[self_join ? 0 : 1].sets);
      EXPECT_GT(whole.entries(), 0u);
      for (size_t i = 1; i < probes.classes.size(); ++i) {
        const uint32_t border = probes.classes[i].begin;
        const gpu::DevicePrefixIndex index(device, bounds, collection, self_join, border, running);
        const std::vector<uint64_t> &found = index.class_entries();
        EXPECT_EQ(index.entries(), whole.entries_before(device, border)) << border;
        EXPECT_EQ(index.entries(), index.entries_before(device, border)) << border;
        EXPECT_TRUE(std::equal(found.begin(), found.begin() + static_cast<ptrdiff_t>(i),
                               whole.class_entries().begin()))
            << border;
        EXPECT_LE(index.end_partner(), whole.end_partner());
      }
    }
  }
}

// One warp took 0.1 to 0.2 s per launch for such sets. The test prints the figure.
TEST_F(GpuBuilds, SetsOfTenMillionTokens) {
  Input<int32_t> input;
  input.self_join = true;
  input.left = {run_of(0, 10'000'000), run_of(500'000, 10'000'000), run_of(5'000'000, 10'000'000), {1, 2, 3}};
  JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.9);
  GpuOptions options;
  options.strategy = GpuOptions::Strategy::bitmap;
  GpuFigures figures;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(difference({{0, 1, 9'500'000}}, run_on_gpu(spec, input, options, &figures)), "");
  }
  std::cout << "built in " << figures.build_ms << " ms, filtered in " << figures.filter_ms << " ms\n";
}

}  // namespace
}  // namespace simjoin::test
