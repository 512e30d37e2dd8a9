// Joins whose comparisons several GPUs share. On a machine with one GPU, workers share that one.
#include <atomic>
#include <chrono>
#include <climits>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/thread_budget.hpp"
#include "gpu/gpu_drive.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

class SeveralGpus : public OnDevice<testing::Test> {
 protected:
  void TearDown() override {
    fail_device_call(0, false);
    set_thread_count(nullptr);
    set_thread_limit(INT_MAX);
  }

  static GpuOptions shared_by(int workers) {
    GpuOptions options;
    options.workers = workers;
    options.strategy = GpuOptions::Strategy::bitmap;
    return options;
  }
  // Enough sets for some dozens of parts.
  static Input<int32_t> sets(uint64_t seed, bool self_join) {
    RandomSets random(seed);
    Input<int32_t> input{shapes::near_duplicates(random, 24000), {}, self_join};
    random.shuffle(input.left);
    if (!self_join) input.right.assign(input.left.begin() + 4000, input.left.begin() + 15000);
    return input;
  }
};

// A GPU that begins late may find nothing left to do, but not each time.
TEST_F(SeveralGpus, PairsAreThoseOfTheCpu) {
  int shared = 0;
  for (const bool self_join : {true, false}) {
    const Input<int32_t> input = sets(self_join ? 41 : 42, self_join);
    for (const auto &[measure, threshold] :
         {std::pair{Measure::jaccard, 0.6}, {Measure::overlap, 5.0}, {Measure::containment, 0.8}}) {
      const JoinSpec spec = make_spec(Algorithm::automatic, measure, threshold);
      const std::vector<Pair> expected = run(spec, input);
      for (const int workers : {2, 4}) {
        for (const uint32_t group : {1u, 8u}) {
          GpuOptions options = shared_by(workers);
          options.bitmap_group = group;
          GpuFigures figures;
          EXPECT_EQ(difference(expected, run_on_gpu(spec, input, options, &figures)), "")
              << test::name_of(measure) << " by " << workers << ", groups of " << group;
          EXPECT_EQ(figures.tile_pairs, 0u);
          shared += figures.device.find(" x ") != std::string::npos;
        }
      }
    }
  }
  EXPECT_GT(shared, 0);
}

// The index visits the lists of small sets, on one GPU. The others compare large sets only.
TEST_F(SeveralGpus, WithAPrefixIndexForSomeSizes) {
  for (const bool self_join : {true, false}) {
    const Input<int32_t> input = sets(43, self_join);
    const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.7);
    GpuOptions options = shared_by(3);
    options.strategy = GpuOptions::Strategy::mixed;
    EXPECT_EQ(difference(run(spec, input), run_on_gpu(spec, input, options)), "");
  }
}

TEST_F(SeveralGpus, SetsOfAllShapes) {
  for (const Shape &shape : all_shapes) {
    const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.5);
    for (const Input<int32_t> &input : {self_input(shape, 44), two_sided_input(shape, 45)}) {
      EXPECT_EQ(difference(run(spec, input), run_on_gpu(spec, input, shared_by(2))), "") << shape.name;
    }
  }
}

// Little work, for the compute sanitizer.
TEST_F(SeveralGpus, FewSets) {
  RandomSets random(50);
  const Input<int32_t> input{shapes::near_duplicates(random, 1200), {}, true};
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.6);
  EXPECT_EQ(difference(run(spec, input), run_on_gpu(spec, input, shared_by(2))), "");
}

// Those that find too little memory for the sets take no part.
TEST_F(SeveralGpus, WithoutMemoryForTheSets) {
  const Input<int32_t> input = sets(46, true);
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.6);
  GpuOptions options = shared_by(4);
  options.memory_limit = size_t{64} << 20;
  GpuFigures figures;
  EXPECT_EQ(difference(run(spec, input), run_on_gpu(spec, input, options, &figures)), "");
  EXPECT_LE(figures.device_memory_peak, options.memory_limit);
}

// GPUs beyond the first need threads of the server's budget, and are fewer if it is used up.
TEST_F(SeveralGpus, BudgetOfThreads) {
  const Input<int32_t> input = sets(47, true);
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.7);
  const std::vector<Pair> expected = run(spec, input);
  std::atomic<int> running = 0;
  set_thread_count(&running);
  for (const auto &[limit, most] : {std::pair{0, 1}, {1, 2}, {5, 4}}) {
    set_thread_limit(limit);
    GpuFigures figures;
    EXPECT_EQ(difference(expected, run_on_gpu(spec, input, shared_by(4), &figures)), "");
    const int gpus = figures.device.find(" x ") == 1 ? figures.device.front() - '0' : 1;
    EXPECT_LE(gpus, most) << figures.device;
    EXPECT_EQ(running, 0);
  }
}

// Each device call of a shared join fails in turn, whichever GPU makes it. The join ends with the right kind
// of error or goes on, and nothing is lost.
TEST_F(SeveralGpus, EveryCallCanFail) {
  RandomSets random(48);
  Input<int32_t> input{shapes::near_duplicates(random, 3000), {}, true};
  random.shuffle(input.left);
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.7);
  GpuOptions options = shared_by(2);
  options.kept_memory = 0;
  const std::vector<Pair> expected = run(spec, input);
  const auto join = [&] { EXPECT_EQ(difference(expected, run_on_gpu(spec, input, options)), ""); };
  join();
  const size_t free = free_memory();
  // Which GPU makes the n-th call differs from run to run, and so does the number of calls.
  for (uint64_t call = 1; call <= 400; call += 3) {
    for (const bool launch : {false, true}) {
      fail_device_call(call, launch);
      try {
        join();
      } catch (const Error &error) {
        EXPECT_EQ(error.kind(), launch ? ErrorKind::device_failure : ErrorKind::limit_exceeded)
            << error.what();
      }
      fail_device_call(0, false);
    }
  }
  join();
  EXPECT_EQ(free_memory(), free);
}

TEST_F(SeveralGpus, AbandonedJoinsEndSoon) {
  RandomSets random(49);
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.3);
  const IntSets sets = shapes::dense(random, 20000);
  // The first run sets devices up and loads kernels.
  for (const int patience_ms : {2000, 100})
    abandon(spec, shared_by(3), sets, {0, 1, 3, 10, 30}, std::chrono::milliseconds(patience_ms));
}

}  // namespace
}  // namespace simjoin::test
