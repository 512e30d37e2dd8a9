// The share of its work that a computation says is done: what stages and passes add to it, and that engines
// tell it while they build.

#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "core/base/worker_pool.hpp"
#include "core/lsh/lsh_join.hpp"
#include "core/weighted/weighted_join.hpp"
#include "unit/drive.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

TEST(WorkShare, TheOnlyPassOfAStageTakesAllOfIt) {
  WorkShare share;
  EXPECT_EQ(share.done(), 0);
  share.begin_stage(0.5, true);
  share.begin_pass(4);
  EXPECT_EQ(share.done(), 0);
  share.step();
  EXPECT_EQ(share.done(), 0.125);
  for (int i = 0; i < 5; ++i) share.step();  // more than were told of
  EXPECT_EQ(share.done(), 0.5);
  share.begin_stage(1);
  EXPECT_EQ(share.done(), 0.5);
  share.end();
  EXPECT_EQ(share.done(), 1);
}

TEST(WorkShare, EachOfManyPassesMovesIt) {
  WorkShare share;
  share.begin_stage(0.5);
  double last = 0;
  for (int pass = 0; pass < 20; ++pass) {
    share.begin_pass(2);
    EXPECT_GE(share.done(), last);
    share.step();
    EXPECT_GT(share.done(), last);
    EXPECT_LT(share.done(), 0.5);
    last = share.done();
  }
  share.begin_stage(0.25);  // a stage that ends too early ends where it begins
  share.begin_pass(1);
  share.step();
  EXPECT_EQ(share.done(), 0.5);
}

TEST(WorkShare, APoolCountsWhatItRuns) {
  StopFlag stop;
  WorkerPool pool(2, stop);
  WorkShare share;
  share.begin_stage(0.5, true);
  pool.parallel(3, [](int, size_t) {});
  EXPECT_EQ(share.done(), 0);
  pool.count_in(&share);
  pool.parallel(3, [](int, size_t) {});
  EXPECT_EQ(share.done(), 0.5);
  share.begin_stage(1, true);
  pool.parallel_in_steps(1, 4, [&](int, size_t) {
    for (double step = 1; step <= 4; ++step) {
      pool.step();
      EXPECT_EQ(share.done(), 0.5 + step / 8);
    }
  });
  pool.count_in(nullptr);
  pool.parallel(3, [](int, size_t) {});
  EXPECT_EQ(share.done(), 1);
}

Input<int32_t> many_sets() {
  RandomSets random(7);
  Input<int32_t> input;
  for (int row = 0; row < 50'000; ++row) input.left.push_back(random.set(10, 50'000, 2));
  input.self_join = true;
  return input;
}

// Runs engines until `wanted` shares between two others have been seen. How many one engine shows depends on
// when its threads run.
template <class Make>
void see_shares(const Input<int32_t> &input, double from, double to, size_t wanted, Make &&make,
                bool weighted = false) {
  constexpr int most_engines = 20;
  std::set<double> seen;
  for (int i = 0; i < most_engines && seen.size() < wanted; ++i) {
    const std::unique_ptr<JoinEngine> engine = make();
    const std::vector<double> weights(10, 0.5);
    for (const IntSet &set : input.left)
      add_set(*engine, Side::left, std::span(set), weighted ? weights.data() : nullptr);
    ShareCheck share;
    Batch batch;
    do {
      share.look(*engine);
      if (share.last() > from && share.last() < to) seen.insert(share.last());
    } while (engine->step(std::chrono::microseconds(1), batch) != StepResult::done);
    share.look(*engine);
    EXPECT_EQ(share.last(), 1);
  }
  EXPECT_GE(seen.size(), wanted);
}

TEST(WorkShare, AJoinMovesItBeforeTheSearch) {
  const JoinSpec spec = [] {
    JoinSpec join = make_spec(Algorithm::automatic, Measure::jaccard, 0.8);
    join.self_join = true;
    return join;
  }();
  see_shares(many_sets(), 0, share_before_search, 10, [&] { return make_cpu_engine(spec); });
}

TEST(WorkShare, AJoinByBandsMovesItWhileItSigns) {
  LshSpec spec;
  spec.self_join = true;
  spec.threads = 2;
  see_shares(many_sets(), 0.05, 0.4, 10, [&] { return make_lsh_join(spec); });
}

TEST(WorkShare, AJoinWithWeightsMovesIt) {
  JoinSpec spec = make_spec(Algorithm::automatic, Measure::cosine, 0.8);
  spec.self_join = true;
  const Input<int32_t> input = many_sets();
  see_shares(
      input, 0, share_before_search, 5, [&] { return make_weighted_join(spec); }, true);
}

}  // namespace
}  // namespace simjoin::test
