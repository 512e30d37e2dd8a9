// The way of pairs from the device to the caller.
#include <numeric>
#include <optional>

#include "cuda/engine/filter_launches.hpp"
#include "cuda/filters/result_fetch.hpp"
#include "gpu/gpu_drive.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

using Results = OnDevice<testing::Test>;

// Results (i, i + 1) with the overlap i + 2.
void number(gpu::Device &device, gpu::ResultColumns &columns, size_t count) {
  std::vector<uint32_t> values(count + 2);
  std::iota(values.begin(), values.end(), 0u);
  copy_to_device(device, columns.left.data(), values.data(), count);
  copy_to_device(device, columns.right.data(), values.data() + 1, count);
  copy_to_device(device, columns.overlap.data(), values.data() + 2, count);
  device.synchronize();
}

// Numbers of pairs around those of a batch and of a piece that is copied at once.
TEST_F(Results, AllArriveInOrder) {
  gpu::use_device(0);
  gpu::Device device(0, 0);
  constexpr size_t batch = size_t{1} << 15, piece = size_t{1} << 17;
  gpu::ResultColumns columns(device, 3 * piece + 5);
  number(device, columns, columns.left.size());
  gpu::ResultFetcher fetcher;
  for (const size_t count :
       {size_t{0}, size_t{1}, batch, batch + 1, piece - 1, piece, piece + 1, 2 * piece, 3 * piece + 5}) {
    uint32_t next = 0, wrong = 0;
    fetcher.fetch(columns, count, [&](Batch &pairs) {
      EXPECT_LE(pairs.size(), batch);
      for (size_t i = 0; i < pairs.size(); ++i, ++next) {
        wrong += pairs.left[i] != next || pairs.right[i] != next + 1 || pairs.overlap[i] != next + 2;
      }
    });
    EXPECT_EQ(next, count);
    EXPECT_EQ(wrong, 0u) << count << " pairs";
  }
}

// A caller that ends while copies are under way.
TEST_F(Results, CopiesUnderWayEndWithTheFetcher) {
  gpu::use_device(0);
  gpu::Device device(0, 0);
  constexpr size_t count = size_t{1} << 20;
  gpu::ResultColumns columns(device, count);
  number(device, columns, count);
  for (int i = 0; i < 20; ++i) {
    std::optional<gpu::ResultFetcher> fetcher(std::in_place);
    EXPECT_THROW(fetcher->fetch(columns, count, [](Batch &) { throw Cancelled{}; }), Cancelled);
    fetcher.reset();
  }
  device.synchronize();
}

class CountingSink final : public gpu::PairSink {
 public:
  void push(Batch &batch) override {
    pairs += batch.size();
    batch.clear();
  }
  uint64_t pairs = 0;
};

// The pairs of a launch are handed over after the next launch has begun.
TEST_F(Results, PairsComeWhileTheNextLaunchRuns) {
  gpu::use_device(0);
  gpu::Device device(0, 0);
  StopFlag stop;
  gpu::JoinReport report;
  CountingSink sink;
  gpu::FilterLaunches launches(device, 0, sink, stop, report);
  gpu::PairCounters found{};
  found.candidates = 100'000;
  for (uint64_t launch = 0; launch < 4; ++launch) {
    launches.run_batch(nullptr, 1, [&] {
      EXPECT_EQ(sink.pairs, launch < 2 ? 0 : (launch - 1) * found.candidates);
      copy_to_device(device, launches.candidates().counters.data(), &found, 1);
    });
    EXPECT_EQ(sink.pairs, launch * found.candidates);
  }
  launches.hand_over();
  EXPECT_EQ(sink.pairs, 4 * found.candidates);
  launches.hand_over();
  EXPECT_EQ(sink.pairs, 4 * found.candidates);
  EXPECT_EQ(report.stats().output, 4 * found.candidates);
}

// Each device call of a join of several launches fails in turn, also while results wait. If the join goes on,
// no pair comes twice.
TEST_F(Results, EveryCallCanFailWhileResultsWait) {
  RandomSets random(11);
  const Input<int32_t> input{shapes::dense(random, 900), {}, true};
  // Every pair qualifies, so the number of launches does not depend on their times.
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0);
  GpuOptions options;
  options.kept_memory = 0;
  options.candidate_capacity = 1;  // the least that the engine works with
  const std::vector<Pair> expected = run_on_gpu(spec, input, options);
  const auto run = [&] { EXPECT_EQ(difference(expected, run_on_gpu(spec, input, options)), ""); };
  run();
  const size_t free = free_memory();
  fail_each_call(
      40, run, [] {}, 100);
  run();
  EXPECT_EQ(free_memory(), free);
}

}  // namespace
}  // namespace simjoin::test
