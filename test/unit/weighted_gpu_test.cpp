// The weighted join beside a GPU that searches: the choice of the device, the decision of each pair, and what
// follows if the GPU fails.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "core/device/gpu_attempt.hpp"
#include "unit/fake_weighted_gpu.hpp"
#include "unit/weighted_oracle.hpp"

namespace simjoin::test {
namespace {

JoinSpec spec_on(Device device, double threshold, const Collection &input) {
  JoinSpec spec;
  spec.measure = input.measure;
  spec.threshold = threshold;
  spec.self_join = input.self_join;
  spec.device = device;
  spec.threads = 2;
  return spec;
}

struct Outcome {
  std::vector<Found> pairs;
  JoinStats stats;
  std::unique_ptr<Notice> notice;
};

Outcome run(const JoinSpec &spec, const Collection &input) {
  const auto join = make_weighted_join(spec);
  feed_sets(*join, input);
  Outcome outcome;
  outcome.pairs = pull_similarities(*join);
  outcome.stats = join->stats();
  outcome.notice = join->take_notice();
  return outcome;
}

class WeightedJoinsOnGpu : public testing::TestWithParam<std::tuple<Measure, Weights>> {
 protected:
  Collection collection(RandomWeights &random, bool self_join, uint32_t rows) const {
    return random_collection(random, std::get<Weights>(GetParam()), self_join, rows,
                             std::get<Measure>(GetParam()));
  }

  FakeWeightedGpu gpu_;
};

// Thresholds are similarities that occur, the next doubles, and others.
TEST_P(WeightedJoinsOnGpu, FindThePairsOfTheOracle) {
  RandomWeights random(21);
  for (int round = 0; round < 4; ++round) {
    const Collection input = collection(random, round % 2 == 0, 60);
    const std::vector<Found> all = all_pairs(input);
    std::vector<double> thresholds = {0.05, 0.5, 0.9, 1.0};
    for (int draw = 0; draw < 10; ++draw) {
      const Found &pair = all[random.below(static_cast<uint32_t>(all.size()))];
      thresholds.push_back(pair.similarity);
      thresholds.push_back(std::nextafter(pair.similarity, 2.0));
    }
    for (const double threshold : thresholds) {
      if (!(threshold > 0)) continue;
      const Outcome outcome = run(spec_on(Device::gpu, threshold, input), input);
      ASSERT_EQ(outcome.pairs, reaching(threshold, all)) << threshold;
      EXPECT_EQ(outcome.stats.output, outcome.pairs.size());
      if (threshold > 1) continue;  // nothing runs
      EXPECT_LE(outcome.stats.output, outcome.stats.verified);
      EXPECT_EQ(outcome.stats.device, "fake");
      EXPECT_EQ(outcome.stats.gpu_refused, "");
      EXPECT_GT(outcome.stats.device_memory_peak, 0u);
    }
  }
  EXPECT_GT(gpu_.device.calls, 0u);
}

INSTANTIATE_TEST_SUITE_P(Weights, WeightedJoinsOnGpu,
                         testing::Combine(testing::Values(Measure::jaccard, Measure::cosine),
                                          testing::ValuesIn(all_kinds)));

class WeightedGpu : public testing::Test {
 protected:
  // A join of so many candidates that `automatic` takes a GPU that is set up.
  static Collection large(bool self_join) {
    RandomWeights random(22);
    Collection input = random_collection(random, Weights::any, self_join, 1000);
    for (Weighted &set : input.left) set[-5] = 1e4;
    for (Weighted &set : input.right) set[-5] = 1e4;
    return input;
  }

  FakeWeightedGpu gpu_;
};

// The CPU goes on where the GPU has failed, whenever that is.
TEST_F(WeightedGpu, FailuresLoseNoPairAndRepeatNone) {
  for (const bool self_join : {true, false}) {
    const Collection input = large(self_join);
    const JoinSpec automatic = spec_on(Device::automatic, 0.9, input);
    const std::vector<Found> expected = run(spec_on(Device::cpu, 0.9, input), input).pairs;
    ASSERT_GT(expected.size(), 100u);
    gpu_.repair();
    gpu_.device.fault.reset();
    const Outcome sound = run(automatic, input);
    EXPECT_EQ(sound.pairs, expected);
    EXPECT_EQ(sound.stats.device, "fake");
    EXPECT_EQ(sound.notice, nullptr);
    for (const ErrorKind kind :
         {ErrorKind::device_failure, ErrorKind::device_unavailable, ErrorKind::limit_exceeded}) {
      for (const uint32_t at : {0u, 7u, 700u}) {
        gpu_.repair();
        gpu_.device.fault = kind;
        gpu_.device.fault_at = at;
        gpu_.device.last = 0;
        const Outcome outcome = run(automatic, input);
        EXPECT_EQ(outcome.pairs, expected) << at;
        EXPECT_GE(gpu_.device.last, at);
        EXPECT_EQ(outcome.stats.output, expected.size());
        EXPECT_EQ(outcome.stats.device, "cpu");
        EXPECT_EQ(outcome.stats.device_memory_peak, 0u);
        EXPECT_EQ(outcome.stats.gpu_refused, "injected");
        ASSERT_NE(outcome.notice, nullptr);
        EXPECT_EQ(outcome.notice->cause, cause_of(kind));
      }
    }
    gpu_.repair();
    EXPECT_THROW(run(spec_on(Device::gpu, 0.9, input), input), Error) << "a demanded GPU is not replaced";
  }
}

TEST_F(WeightedGpu, OnlyJoinsThatPayRunThere) {
  RandomWeights random(23);
  const Collection small = random_collection(random, Weights::any, true, 100);
  EXPECT_EQ(run(spec_on(Device::automatic, 0.5, small), small).stats.gpu_refused, cpu_is_faster);
  const Collection input = large(true);
  gpu_.is_started = false;
  EXPECT_EQ(run(spec_on(Device::automatic, 0.9, input), input).stats.gpu_refused, cpu_is_faster)
      << "the start of a GPU takes longer";
  gpu_.is_started = true;
  EXPECT_EQ(run(spec_on(Device::cpu, 0.9, input), input).stats.gpu_refused, "");
  gpu_.present = false;
  EXPECT_EQ(run(spec_on(Device::automatic, 0.9, input), input).stats.gpu_refused, "no driver");
  EXPECT_EQ(gpu_.device.calls, 0u);
  try {
    run(spec_on(Device::gpu, 0.5, small), small);
    ADD_FAILURE() << "there is no GPU";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), ErrorKind::device_failure);
  }
}

// Such joins stay on the CPU, even if a GPU is demanded, and say why.
TEST_F(WeightedGpu, SomeJoinsStayOnTheCpu) {
  RandomWeights random(24);
  Collection input = random_collection(random, Weights::tenths, true, 400);
  const auto expect_reason = [&](const JoinSpec &spec, const std::string &reason) {
    const Outcome outcome = run(spec, input);
    EXPECT_EQ(outcome.stats.gpu_refused, reason);
    EXPECT_EQ(outcome.stats.device, "cpu");
    EXPECT_EQ(outcome.pairs, expected_pairs(input, spec.threshold));
  };
  expect_reason(spec_on(Device::gpu, 0, input), "every pair reaches the threshold");
  JoinSpec beyond = spec_on(Device::gpu, 0.6, input);
  beyond.memory_limit = size_t{64} << 10;
  expect_reason(beyond, "the sets exceed simjoin.memory_limit");
  input.left.push_back(random.set(Weights::ones, most_weighted_gpu_tokens + 1, 1 << 20));
  expect_reason(spec_on(Device::gpu, 0.6, input), "a set is too large for a GPU");
  input.left.back().erase(input.left.back().begin());
  EXPECT_EQ(run(spec_on(Device::gpu, 0.6, input), input).stats.device, "fake");
  EXPECT_EQ(gpu_.device.calls, 1u);
}

// A row that is done has its partner among the pairs so far. All others get theirs.
TEST_F(WeightedGpu, PairsOfRowsThatAreDoneAreLeftOut) {
  for (const bool self_join : {true, false}) {
    RandomWeights random(25);
    Collection input = random_collection(random, Weights::tenths, self_join, 200);
    const Weighted copied = random.set(Weights::any, 20, 100);
    for (int i = 0; i < 150; ++i) input.left.push_back(copied);
    const std::vector<Found> all = expected_pairs(input, 0.7);
    std::vector<uint8_t> bits(input.left.size() / 8 + 1, 0);
    DoneRows done = {bits.data()};
    JoinSpec spec = spec_on(Device::gpu, 0.7, input);
    spec.done_rows = &done;
    const auto join = make_weighted_join(spec);
    feed_sets(*join, input);
    std::vector<bool> expected(input.left.size()), got(input.left.size());
    for (const Found &pair : all) expected[pair.left] = expected[self_join ? pair.right : pair.left] = true;
    Batch batch;
    size_t found = 0;
    for (StepResult result;
         (result = join->step(std::chrono::milliseconds(10), batch)) != StepResult::done;) {
      for (size_t i = 0; result == StepResult::batch && i < batch.size(); ++i, ++found) {
        for (const uint32_t row : {batch.left[i], self_join ? batch.right[i] : batch.left[i]}) {
          got[row] = true;
          std::atomic_ref(bits[row / 8])
              .fetch_or(static_cast<uint8_t>(1 << row % 8), std::memory_order_relaxed);
        }
      }
    }
    EXPECT_EQ(got, expected);
    EXPECT_LE(found, all.size());
    EXPECT_EQ(join->stats().device, "fake");
    if (self_join) {
      EXPECT_LT(found, all.size());
    }
  }
}

}  // namespace
}  // namespace simjoin::test
