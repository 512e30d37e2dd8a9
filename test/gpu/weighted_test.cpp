// Joins of sets with weights on a GPU: the pairs of an oracle and the figures of the CPU, whatever fails.
#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/error.hpp"
#include "core/device/gpu.hpp"
#include "gpu/gpu_drive.hpp"
#include "unit/weighted_oracle.hpp"

namespace simjoin::test {
namespace {

std::vector<Found> run_weighted(Device device, const Collection &input, double threshold,
                                JoinStats *stats = nullptr) {
  JoinSpec spec;
  spec.measure = input.measure;
  spec.threshold = threshold;
  spec.self_join = input.self_join;
  spec.device = device;
  spec.threads = 4;
  const auto join = make_weighted_join(spec);
  feed_sets(*join, input);
  std::vector<Found> pairs = pull_similarities(*join);
  if (stats != nullptr) *stats = join->stats();
  return pairs;
}

template <class Base>
class WithBackend : public OnDevice<Base> {
 protected:
  void SetUp() override {
    OnDevice<Base>::SetUp();
    set_gpu_backend(&cuda_backend());
  }
  void TearDown() override {
    fail_device_call(0, false);
    lose_device(0, DeviceLoss::none);
    set_gpu_backend(nullptr);
  }
};

// The filters of the GPU leave what those of the CPU leave, since both compute alike.
void expect_same(const Collection &input, double threshold, const std::vector<Found> &expected) {
  JoinStats on_gpu, on_cpu;
  EXPECT_EQ(run_weighted(Device::gpu, input, threshold, &on_gpu), expected) << threshold;
  EXPECT_EQ(run_weighted(Device::cpu, input, threshold, &on_cpu), expected) << threshold;
  EXPECT_EQ(on_gpu.after_length, on_cpu.after_length) << threshold;
  EXPECT_EQ(on_gpu.after_prefix, on_cpu.after_prefix) << threshold;
  EXPECT_EQ(on_gpu.output, expected.size());
  EXPECT_NE(on_gpu.device, "cpu");
}

class GpuWeightedJoins : public WithBackend<testing::TestWithParam<std::tuple<Measure, Weights>>> {
 protected:
  Collection collection(RandomWeights &random, bool self_join, uint32_t rows) const {
    return random_collection(random, std::get<Weights>(GetParam()), self_join, rows,
                             std::get<Measure>(GetParam()));
  }
};

TEST_P(GpuWeightedJoins, FindThePairsOfTheOracle) {
  RandomWeights random(31);
  for (const uint32_t rows : {1u, 31u, 32u, 33u, 300u}) {
    for (const bool self_join : {true, false}) {
      const Collection input = collection(random, self_join, rows);
      const std::vector<Found> all = all_pairs(input);
      for (const double threshold : {0.05, 0.3, 0.7, 0.9, 1.0})
        expect_same(input, threshold, reaching(threshold, all));
    }
  }
}

// Similarities that occur are thresholds, and so are the next doubles.
TEST_P(GpuWeightedJoins, FindPairsExactlyOnTheThreshold) {
  RandomWeights random(32);
  for (const bool self_join : {true, false}) {
    const Collection input = collection(random, self_join, 60);
    const std::vector<Found> all = all_pairs(input);
    for (int draw = 0; draw < 20; ++draw) {
      const Found &pair = all[random.below(static_cast<uint32_t>(all.size()))];
      if (!(pair.similarity > 0)) continue;
      for (const double threshold : {pair.similarity, std::nextafter(pair.similarity, 2.0)})
        ASSERT_EQ(run_weighted(Device::gpu, input, threshold), reaching(threshold, all)) << pair;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Weights, GpuWeightedJoins,
                         testing::Combine(testing::Values(Measure::jaccard, Measure::cosine),
                                          testing::ValuesIn(all_kinds)));

class GpuWeightedJoin : public WithBackend<testing::Test> {};

TEST_F(GpuWeightedJoin, TakesCollectionsWithoutSetsOrWeights) {
  for (const Measure measure : {Measure::jaccard, Measure::cosine}) {
    EXPECT_TRUE(run_weighted(Device::gpu, {{}, {}, true, measure}, 0.5).empty());
    EXPECT_TRUE(run_weighted(Device::gpu, {{{{1, 1.0}}}, {}, false, measure}, 0.5).empty());
    EXPECT_TRUE(run_weighted(Device::gpu, {{}, {{{1, 1.0}}}, false, measure}, 0.5).empty());
    EXPECT_TRUE(run_weighted(Device::gpu, {{{{1, 0.0}}, {{1, 0.0}}, {}}, {}, true, measure}, 0.1).empty());
  }
}

// A float4's least and greatest weight in one join.
TEST_F(GpuWeightedJoin, TakesTheWidestWeights) {
  const double tiny = 0x1p-149, huge = static_cast<double>(std::numeric_limits<float>::max());
  Collection input = {{{{1, tiny}, {2, tiny}},
                       {{1, tiny}},
                       {{1, huge}, {2, huge}, {3, tiny}},
                       {{1, huge}, {2, huge}},
                       {{1, 3 * huge}, {2, huge}},
                       {{1, 2.5 * huge}, {2, huge}, {4, tiny}}},
                      {},
                      true};
  for (const Measure measure : {Measure::jaccard, Measure::cosine}) {
    input.measure = measure;
    for (const double threshold : {1e-300, 1e-155, 1e-80, 1e-40, 0.5, 0.75, 1.0})
      EXPECT_EQ(run_weighted(Device::gpu, input, threshold), expected_pairs(input, threshold)) << threshold;
  }
}

// Several million pairs of copies have no room at once, so probes are searched in smaller runs.
TEST_F(GpuWeightedJoin, FindsMorePairsThanItHasRoomFor) {
  RandomWeights random(33);
  Collection input;
  const Weighted copied = random.set(Weights::any, 30, 200);
  for (int i = 0; i < 3000; ++i) input.left.push_back(copied);
  for (int i = 0; i < 3000; ++i) input.left.push_back(random.set(Weights::any, 20, 5000));
  const std::vector<Found> expected = run_weighted(Device::cpu, input, 0.8);
  EXPECT_GT(expected.size(), 4'000'000u);
  EXPECT_EQ(run_weighted(Device::gpu, input, 0.8), expected);
}

// A few tokens are in most sets, and sets of thousands of tokens are among small ones.
TEST_F(GpuWeightedJoin, TakesSkewedAndLargeSets) {
  RandomWeights random(34);
  for (const Measure measure : {Measure::jaccard, Measure::cosine}) {
    Collection input;
    input.measure = measure;
    for (int i = 0; i < 3000; ++i) {
      Weighted set = random.set(Weights::tenths, 1 + random.below(14), 1u << (4 + i % 10));
      input.left.push_back(random.near(set, Weights::tenths, 3, 1000));
    }
    input.left.push_back(random.set(Weights::any, 9000, 40000));
    input.left.push_back(random.near(input.left.back(), Weights::any, 500, 40000));
    for (const double threshold : {0.5, 0.8})
      EXPECT_EQ(run_weighted(Device::gpu, input, threshold), run_weighted(Device::cpu, input, threshold));
  }
}

TEST_F(GpuWeightedJoin, EveryCallCanFail) {
  RandomWeights random(35);
  for (const bool self_join : {true, false}) {
    const Collection input = random_collection(random, Weights::any, self_join, 200);
    const std::vector<Found> expected = run_weighted(Device::gpu, input, 0.5);
    const auto work = [&] {
      set_gpu_backend(&cuda_backend());  // forgets failures
      EXPECT_EQ(run_weighted(Device::gpu, input, 0.5), expected);
    };
    const auto before = free_memory();
    fail_each_call(20, work);
    work();
    EXPECT_NEAR(static_cast<double>(free_memory()), static_cast<double>(before), 64e6);
  }
}

TEST_F(GpuWeightedJoin, StopsSoonWhenItIsAbandoned) {
  RandomWeights random(36);
  Collection input;
  for (int i = 0; i < 60000; ++i) input.left.push_back(random.set(Weights::any, 60, 400));
  for (const int wait : {0, 20, 200, 500}) {
    JoinSpec spec;
    spec.threshold = 0.3;
    spec.self_join = true;
    spec.device = Device::gpu;
    auto join = make_weighted_join(spec);
    feed_sets(*join, input);
    Batch batch;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait);
    do join->step(std::chrono::milliseconds(5), batch);
    while (std::chrono::steady_clock::now() < end);
    const auto begun = std::chrono::steady_clock::now();
    join.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(150)) << wait;
  }
}

}  // namespace
}  // namespace simjoin::test
