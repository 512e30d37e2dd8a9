// The step interface: bounded steps and batches, an engine that is abandoned at any moment, and a slow
// consumer.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "unit/drive.hpp"
#include "unit/process.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t largest_batch = size_t{1} << 18;  // pairs

class StepTest : public testing::TestWithParam<Algorithm> {
 protected:
  static std::unique_ptr<JoinEngine> engine_for(double threshold, int threads = 2) {
    JoinSpec spec = make_spec(GetParam(), Measure::jaccard, threshold, threads);
    spec.self_join = true;
    return make_cpu_engine(spec);
  }

  // A collection on which every algorithm works for a long time at a low threshold.
  static const Input<int32_t> &slow_input() {
    static const Input<int32_t> input = [] {
      RandomSets random(31);
      Input<int32_t> slow;
      slow.self_join = true;
      for (int i = 0; i < 15'000; ++i) slow.left.push_back(random.set(random.between(20, 90), 1500, 2.5));
      return slow;
    }();
    return input;
  }

  // Equal sets: rows * (rows - 1) / 2 pairs, far more than the input.
  static Input<int32_t> explosive_input(size_t rows) {
    Input<int32_t> input;
    input.self_join = true;
    input.left.assign(rows, {1, 2, 3});
    return input;
  }
};

INSTANTIATE_TEST_SUITE_P(Every, StepTest, testing::ValuesIn(all_algorithms),
                         [](const auto &info) { return name_of(info.param); });

TEST_P(StepTest, DoneRepeats) {
  const auto engine = engine_for(0.5);
  feed(*engine, self_input(all_shapes[0], 32));
  EXPECT_FALSE(pull(*engine).empty());
  const uint64_t output = engine->stats().output;
  Batch batch;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(engine->step(step_budget, batch), StepResult::done);
  EXPECT_EQ(engine->stats().output, output);
}

TEST_P(StepTest, BatchesAreBoundedAndReplaceTheirContent) {
  constexpr size_t rows = 1500;
  const auto engine = engine_for(0.9);
  feed(*engine, explosive_input(rows));
  Batch batch;
  size_t pairs = 0, largest = 0;
  StepResult result;
  do {
    batch.clear();
    batch.push(~0u, ~0u, ~0u);
    result = engine->step(step_budget, batch);
    if (result != StepResult::batch) continue;
    pairs += batch.size();
    largest = std::max(largest, batch.size());
    EXPECT_NE(batch.left.front(), ~0u);
  } while (result != StepResult::done);
  EXPECT_EQ(pairs, rows * (rows - 1) / 2);
  EXPECT_LE(largest, largest_batch);
}

TEST_P(StepTest, SmallestBudgetComesToAnEnd) {
  const Input<int32_t> input = self_input(all_shapes[3], 33);
  const auto engine = engine_for(0.6);
  feed(*engine, input);
  Batch batch;
  std::vector<Pair> pairs;
  const auto begin = processor_time();
  for (StepResult result; (result = engine->step(std::chrono::microseconds{1}, batch)) != StepResult::done;) {
    if (result == StepResult::batch) collect(batch, pairs);
    ASSERT_LT(processor_time() - begin, patience);
  }
  std::sort(pairs.begin(), pairs.end());
  EXPECT_EQ(difference(Oracle<int32_t>(input).join(Measure::jaccard, 0.6), pairs), "");
}

TEST_P(StepTest, StepsAndDestructorArePrompt) {
  for (int threads : {1, 2}) {
    auto engine = engine_for(0.2, threads);
    feed(*engine, slow_input());
    Batch batch;
    std::chrono::nanoseconds longest{};
    const auto stop = Clock::now() + milliseconds{700};
    while (Clock::now() < stop) {
      const auto start = processor_time();
      const StepResult result = engine->step(std::chrono::microseconds{5000}, batch);
      longest = std::max(longest, processor_time() - start);
      if (result == StepResult::done) break;
    }
    EXPECT_LT(longest, prompt) << threads << " threads";
    const auto start = processor_time();
    engine.reset();
    EXPECT_LT(processor_time() - start, prompt) << threads << " threads";
  }
}

TEST_P(StepTest, EngineCanBeLeftAtAnyMoment) {
  const auto leave_after = [&](int steps) {
    auto engine = engine_for(0.3, 3);
    if (steps == 0) return;
    feed(*engine, slow_input());
    Batch batch;
    for (int i = 1; i < steps; ++i) engine->step(std::chrono::microseconds{3000}, batch);
    const auto start = processor_time();
    engine.reset();
    EXPECT_LT(processor_time() - start, prompt) << "after " << steps << " steps";
  };
  const auto leave_at_all_moments = [&] {
    for (int steps : {0, 1, 2, 3, 5, 10, 30}) leave_after(steps);
  };
  leave_at_all_moments();  // makes the libraries allocate what they allocate once
  const size_t threads = settled_thread_count(1);
  const size_t heap = heap_bytes();
  for (int round = 0; round < 3; ++round) leave_at_all_moments();
  EXPECT_EQ(settled_thread_count(threads), threads);
  EXPECT_LT(heap_bytes(), heap + mebibyte);
}

TEST_P(StepTest, SlowConsumerDoesNotMakeMemoryGrow) {
  constexpr size_t rows = 12'000;  // 72 million pairs, 860 MB of them if they were all kept
  const auto engine = engine_for(0.9);
  feed(*engine, explosive_input(rows));
  const size_t before = resident_bytes();
  Batch batch;
  for (int i = 0; i < 20; ++i) {
    ASSERT_NE(engine->step(step_budget, batch), StepResult::done);
    std::this_thread::sleep_for(milliseconds{20});
  }
  EXPECT_LT(resident_bytes(), before + 64 * mebibyte);
  EXPECT_LT(engine->stats().memory_peak, 96 * mebibyte);
}

// All pairs of the slow consumer's join arrive, each once.
TEST_P(StepTest, EveryPairOfALargeResultArrivesOnce) {
  constexpr size_t rows = 2500;
  Input<int32_t> input = explosive_input(rows);
  const std::vector<Pair> pairs = run(make_spec(GetParam(), Measure::dice, 1.0, 3), input);
  ASSERT_EQ(pairs.size(), rows * (rows - 1) / 2);
  size_t at = 0;
  for (uint32_t l = 0; l < rows; ++l) {
    for (uint32_t r = l + 1; r < rows; ++r, ++at) ASSERT_EQ(pairs[at], (Pair{l, r, 3}));
  }
}

TEST_P(StepTest, FiguresCanBeReadAtAnyTime) {
  const auto engine = engine_for(0.4);
  EXPECT_EQ(engine->stats().output, 0u);
  feed(*engine, slow_input());
  EXPECT_EQ(engine->stats().output, 0u);
  Batch batch;
  JoinStats last;
  for (int i = 0; i < 30 && engine->step(std::chrono::microseconds{5000}, batch) != StepResult::done; ++i) {
    const JoinStats now = engine->stats();
    EXPECT_GE(now.memory_peak, last.memory_peak);
    EXPECT_GE(now.output, last.output);
    EXPECT_GE(now.verified, last.verified);
    last = now;
  }
  EXPECT_GT(last.memory_peak, 0u);
}

}  // namespace
}  // namespace simjoin::test
