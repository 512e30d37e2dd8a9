// Faults injected at every device call, and joins that are abandoned.
#include <chrono>
#include <thread>

#include <cuda_runtime_api.h>

#include "core/base/error.hpp"
#include "cuda/base/device.hpp"
#include "cuda/filters/prefix_join.hpp"
#include "cuda/filters/published/counting_join.hpp"
#include "cuda/sets/collection.hpp"
#include "gpu/gpu_drive.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

class GpuFaults : public OnDevice<testing::Test> {
 protected:
  void TearDown() override {
    fail_device_call(0, false);
    lose_device(0, DeviceLoss::none);
  }

  // Keeps no memory, so that free memory shows what is lost.
  static GpuOptions keeping_nothing() {
    GpuOptions options;
    options.kept_memory = 0;
    return options;
  }
};

// Each device call of a join fails in turn. The join ends with the right kind of error, or continues in tiles
// if memory ran out before the first pair. The next join works, and the device's memory returns to its
// baseline.
TEST_F(GpuFaults, EveryCallCanFail) {
  const Input<int32_t> input = two_sided_input(all_shapes[3], 1);
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.6);
  const std::vector<Pair> expected = run_on_gpu(spec, input, keeping_nothing());  // also sets the device up
  GpuFigures figures;
  const auto run = [&] {
    EXPECT_EQ(difference(expected, run_on_gpu(spec, input, keeping_nothing(), &figures)), "");
  };
  run();
  const size_t free = free_memory();
  fail_each_call(20, run, [&] { EXPECT_GT(figures.tile_pairs, 0u); });
  run();
  EXPECT_EQ(free_memory(), free);
}

// Memory that stays short ends the join with an error, however small its tiles.
TEST_F(GpuFaults, MemoryThatStaysShortIsAnError) {
  const Input<int32_t> input = two_sided_input(all_shapes[3], 1);
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.6);
  const std::vector<Pair> expected = run_on_gpu(spec, input, keeping_nothing());
  for (uint64_t call : {1, 5, 20}) {
    lose_device(call, DeviceLoss::short_memory);
    EXPECT_THROW(run_on_gpu(spec, input, keeping_nothing()), Error) << call;
    lose_device(0, DeviceLoss::none);
    EXPECT_EQ(difference(expected, run_on_gpu(spec, input, keeping_nothing())), "");
  }
}

// A lost device fails every call from then on. A device that comes back is used again.
TEST_F(GpuFaults, ALostDeviceIsAnErrorEachTime) {
  const Input<int32_t> input = two_sided_input(all_shapes[3], 1);
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.6);
  const std::vector<Pair> expected = run_on_gpu(spec, input, keeping_nothing());
  const size_t free = free_memory();
  for (uint64_t call : {1, 10, 40}) {
    lose_device(call, DeviceLoss::lost);
    for (int i = 0; i < 2; ++i) {
      try {
        run_on_gpu(spec, input, keeping_nothing());
        ADD_FAILURE() << "call " << call << " failed unnoticed";
      } catch (const Error &error) {
        EXPECT_EQ(error.kind(), ErrorKind::device_failure);
      }
    }
    lose_device(0, DeviceLoss::none);
    EXPECT_EQ(difference(expected, run_on_gpu(spec, input, keeping_nothing())), "");
  }
  EXPECT_EQ(free_memory(), free);
}

TEST_F(GpuFaults, TooLittleMemoryIsAnErrorWithAHint) {
  GpuOptions options = keeping_nothing();
  options.memory_limit = size_t{1} << 20;  // too little for the candidates of the smallest tiles
  try {
    run_on_gpu(make_spec(Algorithm::automatic, Measure::jaccard, 0.6), two_sided_input(all_shapes[3], 1),
               options);
    ADD_FAILURE() << "the limit was not kept";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
    EXPECT_FALSE(error.hint().empty());
  }
}

// If even the smallest tiles do not fit, the error states the available and the needed memory.
TEST_F(GpuFaults, TooManyTilesAreAnErrorWithTheMemoryNeeded) {
  GpuOptions options = keeping_nothing();
  options.memory_limit = 4096;
  Input<int32_t> input;
  input.self_join = true;
  for (int32_t row = 0; row < 100'000; ++row) input.left.push_back({row, row + 1, row + 2});
  try {
    run_on_gpu(make_spec(Algorithm::automatic, Measure::jaccard, 0.6), input, options);
    ADD_FAILURE() << "the limit was not kept";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
    EXPECT_EQ(std::string(error.what()).find("the join may use 4 kB of device memory, and the smallest"), 0u)
        << error.what();
  }
}

// An engine abandoned at any moment soon stops and frees its memory.
TEST_F(GpuFaults, AbandonedJoinsEndSoon) {
  RandomSets random(3);
  const IntSets sets = shapes::dense(random, 20000);
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.3);
  GpuOptions tiles = keeping_nothing();
  tiles.tile_rows = 4000;
  tiles.workers = 2;
  const auto end_within = [&](const GpuOptions &options, std::chrono::milliseconds patience) {
    abandon(spec, options, sets, {0, 1, 2, 3, 10}, patience);
  };
  // The first run takes longer, because it sets up devices and loads kernels.
  end_within(keeping_nothing(), std::chrono::seconds(2));
  end_within(tiles, std::chrono::seconds(2));
  const size_t free = free_memory();
  end_within(keeping_nothing(), std::chrono::milliseconds(100));
  end_within(tiles, std::chrono::milliseconds(100));
  EXPECT_EQ(free_memory(), free);
}

// Returns sets of `tokens` tokens each. Any two share about every tenth token.
IntSets sets_of(RandomSets &random, size_t rows, int32_t tokens, int32_t values_per_token) {
  IntSets sets(rows);
  for (IntSet &set : sets) {
    for (int32_t i = 0; i < tokens; ++i)
      set.push_back(i * values_per_token + random.between(0, values_per_token - 1));
  }
  return sets;
}

// An abandoned join waits for its current launch, so no launch may take long. Covered are the slowest kernel,
// expensive list entries, and verification of many long candidates.
TEST_F(GpuFaults, NoLaunchTakesLong) {
  RandomSets random(6);
  const auto expect_short = [](const IntSets &sets, double threshold, const GpuOptions &options) {
    const Input<int32_t> some{{sets.begin(), sets.begin() + 20}, {}, true}, all{sets, {}, true};
    const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, threshold);
    GpuFigures figures;
    run_on_gpu(spec, some, options);  // loads the kernels
    run_on_gpu(spec, all, options, &figures);
    EXPECT_GT(figures.longest_launch_ms, 0);
    EXPECT_LT(figures.longest_launch_ms, 100);
  };
  GpuOptions popcount = keeping_nothing();
  popcount.strategy = GpuOptions::Strategy::bitmap;
  popcount.bitmap_kernel = BitmapKernel::popcount;
  expect_short(sets_of(random, 600000, 16, 250), 0.9, popcount);
  expect_short(sets_of(random, 2000, 5000, 100), 0.1, popcount);  // the widest signatures

  GpuOptions prefix = keeping_nothing();
  prefix.strategy = GpuOptions::Strategy::prefix;
  expect_short(sets_of(random, 3000, 2000, 10), 0.5, prefix);

  GpuOptions bitmap = keeping_nothing();
  bitmap.strategy = GpuOptions::Strategy::bitmap;
  IntSets copies = sets_of(random, 1, 4000, 100);
  while (copies.size() < 1200) copies.push_back(random.edited(copies[0], 50, 400000));
  expect_short(copies, 0.9, bitmap);
}

// Equal sets, which have more candidates than fit in every launch. A launch has enough of them soon.
TEST_F(GpuFaults, NoLaunchTakesLongForItsCandidates) {
  RandomSets random(7);
  const Input<int32_t> input{IntSets(60000, random.set(20, 1000)), {}, true};
  JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.9);
  spec.self_join = true;
  for (const BitmapKernel kernel : {BitmapKernel::fastest, BitmapKernel::warp, BitmapKernel::popcount}) {
    GpuOptions options = keeping_nothing();
    options.strategy = GpuOptions::Strategy::bitmap;
    options.bitmap_kernel = kernel;
    const Input<int32_t> some{{input.left.begin(), input.left.begin() + 20}, {}, true};
    run_on_gpu(spec, some, options);  // loads the kernels
    const auto engine = make_gpu_engine(spec, options);
    feed_blocks(*engine, input);
    // To hand over all pairs would take a minute. Some batches of several launches suffice.
    Batch batch;
    uint64_t pairs = 0;
    while (pairs < uint64_t{24} << 20 && engine->step(step_budget, batch) != StepResult::done) {
      pairs += batch.size();
      batch = {};
    }
    EXPECT_GE(pairs, uint64_t{24} << 20);
    const GpuFigures figures = engine->figures();
    EXPECT_GT(figures.launches_repeated, 0u);
    EXPECT_LT(figures.longest_launch_ms, 100);
  }
}

// The work before the first launch can be stopped, too.
TEST_F(GpuFaults, BuildingEndsWhereItIsStopped) {
  RandomSets random(8);
  const IntSets sets = shapes::skewed(random, 2000);
  gpu::use_device(0);
  gpu::Device device(0, 0);
  StopFlag running, stopped;
  stopped.set();
  const gpu::SignatureWidths widths{70};
  EXPECT_THROW(gpu::build_collection(device, uploaded(device, sets).get(), nullptr, widths, stopped),
               Cancelled);
  const gpu::DeviceCollection collection =
      gpu::build_collection(device, uploaded(device, sets).get(), nullptr, widths, running);
  const uint32_t end = collection.sides[0].sets;
  EXPECT_EQ(end, sets.size());
  const Bounds bounds(Measure::jaccard, 0.6);
  EXPECT_GT(gpu::DevicePrefixIndex(device, bounds, collection, true, end, running).entries(), 0u);
  EXPECT_THROW(gpu::DevicePrefixIndex(device, bounds, collection, true, end, stopped), Cancelled);
  EXPECT_THROW(gpu::CountingJoin(device, bounds, collection, true, gpu::IndexedPart::all, stopped),
               Cancelled);
}

}  // namespace
}  // namespace simjoin::test
