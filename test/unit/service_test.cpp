// Joins by the GPU service are those of its engine, in whichever way the sets come.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <set>
#include <thread>

#include "core/base/error.hpp"
#include "core/device/gpu_attempt.hpp"
#include "gpu_service/client/client_join.hpp"
#include "unit/oracle.hpp"
#include "unit/process.hpp"
#include "unit/random_sets.hpp"
#include "unit/service_drive.hpp"
#include "unit/typed_tokens.hpp"

namespace simjoin::test {
namespace {

class ServiceTest : public testing::Test {
 protected:
  static JoinSpec spec_of(double threshold, Measure measure = Measure::jaccard) {
    return make_spec(Algorithm::automatic, measure, threshold, 1);
  }

  // Compares a join through the service with the naive one.
  template <class Token>
  void expect_right(const Input<Token> &input, Measure measure, double threshold) {
    JoinStats stats;
    const auto pairs = join_on(Device::gpu, spec_of(threshold, measure), input, &stats);
    EXPECT_EQ(difference(Oracle(input).join(measure, threshold), pairs), "");
    EXPECT_NE(stats.device.find("(service)"), std::string::npos);
  }

  RunningService server_;
  ServiceSession session_{server_.path};
};

TEST_F(ServiceTest, JoinsAllShapes) {
  for (const Shape &shape : all_shapes) {
    SCOPED_TRACE(shape.name);
    expect_right(self_input(shape, 1), Measure::jaccard, 0.6);
    expect_right(two_sided_input(shape, 2), Measure::cosine, 0.7);
    expect_right(two_sided_input(shape, 3), Measure::containment, 0.9);
  }
  EXPECT_GE(server_.cores.engines, 33);
  EXPECT_EQ(session_.own.engines, 0);
}

TEST_F(ServiceTest, JoinsByAllMeasures) {
  for (const Measure measure : all_measures) {
    SCOPED_TRACE(name_of(measure));
    const double threshold = measure == Measure::overlap ? 5 : 0.8;
    expect_right(self_input(all_shapes[3], 5), measure, threshold);
    expect_right(two_sided_input(all_shapes[3], 6), measure, threshold);
  }
}

TEST_F(ServiceTest, JoinsAllTypes) {
  const Input<int32_t> ints = two_sided_input(all_shapes[3], 4);
  expect_right(with_tokens<int64_t>(ints), Measure::dice, 0.7);
  expect_right(with_tokens<std::string>(ints), Measure::dice, 0.7);
}

TEST_F(ServiceTest, EveryPairMayQualify) {
  expect_right(two_sided_input(all_shapes[5], 4), Measure::jaccard, 0);
}

TEST_F(ServiceTest, RandomSets) {
  rc::check("a join by the service is right", [&] {
    const auto sets =
        rc::gen::container<std::vector<IntSet>>(rc::gen::container<IntSet>(rc::gen::inRange<int32_t>(0, 12)));
    Input<int32_t> input;
    input.left = *sets;
    input.right = *sets;
    input.self_join = *rc::gen::arbitrary<bool>();
    if (input.self_join) input.right.clear();
    const double threshold = *rc::gen::element(0.3, 0.5, 0.8, 1.0);
    const auto pairs = join_on(Device::gpu, spec_of(threshold), input);
    RC_ASSERT(difference(Oracle(input).join(Measure::jaccard, threshold), pairs) == "");
  });
}

// Sets pass in the service's memory, through the socket, and both ways where the memory is too small.
TEST(ServiceMemory, JoinsSetsOfSeveralBlocks) {
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.8, 1);
  for (const bool self_join : {true, false}) {
    const Input<int32_t> input = sets_of_several_blocks(self_join);
    const auto expected = run(spec, input);
    ASSERT_GT(expected.size(), 500u);
    for (const size_t memory : {64 * mebibyte, 8 * mebibyte}) {
      RunningService server(memory);
      const ServiceSession session(server.path);
      EXPECT_EQ(difference(expected, join_on(Device::gpu, spec, input)), "");
      EXPECT_TRUE(server.comes_to_rest());
    }
  }
}

// A set of more tokens than a piece, or a message, holds.
TEST_F(ServiceTest, JoinsLongSets) {
  Input<int32_t> input;
  input.self_join = true;
  for (const int32_t size : {1'500'000, 10, 100'000, 3'000'000}) {
    IntSet set(static_cast<size_t>(size));
    std::iota(set.begin(), set.end(), 4 * size);
    input.left.push_back(set);
    set.pop_back();
    input.left.push_back(set);
  }
  const auto expected = run(spec_of(0.6), input);
  ASSERT_EQ(expected.size(), 4u);
  EXPECT_EQ(difference(expected, join_on(Device::gpu, spec_of(0.6), input)), "");
}

TEST_F(ServiceTest, KnowsTheSizesOfAllRows) {
  Input<int32_t> input = self_input(all_shapes[6], 5);
  JoinSpec spec = spec_of(0.9);
  spec.self_join = true;
  spec.device = Device::gpu;
  const auto engine = make_engine(spec);
  feed(*engine, input);
  pull(*engine);
  for (uint32_t row = 0; row < input.left.size(); ++row) {
    const std::set<int32_t> distinct(input.left[row].begin(), input.left[row].end());
    EXPECT_EQ(engine->set_size(Side::left, row), distinct.size());
  }
}

// As a session that has several cursors open.
TEST_F(ServiceTest, JoinsOfASessionRunBesideEachOther) {
  const Input<int32_t> input = self_input(all_shapes[2], 6);
  const auto expected = Oracle(input).join(Measure::jaccard, 0.1);
  ASSERT_GT(expected.size(), 5'000u);
  JoinSpec spec = spec_of(0.1);
  spec.self_join = true;
  spec.device = Device::gpu;
  std::vector<std::unique_ptr<JoinEngine>> engines;
  std::vector<std::vector<Pair>> pairs(5);
  for (size_t i = 0; i < pairs.size(); ++i) {
    engines.push_back(make_engine(spec));
    feed(*engines.back(), input);
  }
  Batch batch;
  for (size_t done = 0; done < engines.size();) {
    done = 0;
    for (size_t i = 0; i < engines.size(); ++i) {
      const StepResult result = engines[i]->step(step_budget, batch);
      if (result == StepResult::batch) collect(batch, pairs[i]);
      done += result == StepResult::done;
    }
  }
  for (auto &found : pairs) {
    std::sort(found.begin(), found.end());
    EXPECT_EQ(difference(expected, found), "");
  }
  engines.clear();
  EXPECT_TRUE(server_.comes_to_rest());
  EXPECT_EQ(server_.service.status().sessions, 1u);
  EXPECT_EQ(server_.service.status().joins, 5u);
}

TEST_F(ServiceTest, TellsItsStatus) {
  const auto status = session_.backend.status();
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->pid, getpid());
  EXPECT_EQ(status->sessions, 1u);
  EXPECT_EQ(status->memory_total, 16 * mebibyte);
  EXPECT_EQ(status->memory_used, 0u);
}

TEST(ServiceBackend, UsesItsOwnDeviceWithoutAService) {
  ServiceSession session("/nonexistent/socket");
  session.own.present = true;
  EXPECT_FALSE(session.backend.started());
  EXPECT_FALSE(session.backend.status().has_value());
  const Input<int32_t> input = self_input(all_shapes[0], 1);
  const auto pairs = join_on(Device::gpu, make_spec(Algorithm::automatic, Measure::jaccard, 0.6), input);
  EXPECT_EQ(difference(Oracle(input).join(Measure::jaccard, 0.6), pairs), "");
  EXPECT_EQ(session.own.engines, 1);
  session.backend.set_up();
  EXPECT_EQ(session.own.set_ups, 1);
}

// Notes which memory is page-locked.
class LockingBackend : public CpuBackend {
 public:
  void lock_memory(void *data, size_t) override { locked = data; }
  void unlock_memory(void *data) noexcept override {
    if (data != locked) return;
    *static_cast<char *>(data) = 1;  // it is still there
    locked = nullptr;
  }
  void *locked = nullptr;
};

TEST(ServiceMemory, IsUnlockedBeforeItGoes) {
  LockingBackend backend;
  {
    RunningService server(4 * mebibyte, &backend);
    EXPECT_NE(backend.locked, nullptr);
  }
  EXPECT_EQ(backend.locked, nullptr);
}

// Sets that wait for a busy service do not pile up in the session.
TEST(ServiceMemory, SetsThatWaitKeepToTheLimit) {
  RunningService server(4 * mebibyte);
  const auto other = ClientConnection::open(server.path);
  const HostPiece only = other->take_piece();
  ASSERT_NE(only.data, nullptr);
  ClientJoin early(other, make_spec(Algorithm::automatic, Measure::jaccard, 0.5));
  ASSERT_TRUE(other->ask({Ask::status}).has_value());
  ServiceSession session(server.path);
  const Input<int32_t> input = sets_of_several_blocks(true, 120'000);
  JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.5);
  spec.memory_limit = mebibyte;
  spec.self_join = true;
  spec.device = Device::gpu;
  const auto engine = make_engine(spec);
  feed(*engine, input);
  EXPECT_LT(engine->stats().memory_peak, 9 * mebibyte);  // blocks have 4
}

TEST(ServiceBackend, SmallJoinsDoNotConnect) {
  RunningService server;
  ServiceSession session(server.path);
  const Input<int32_t> input = self_input(all_shapes[0], 1);
  join_on(Device::automatic, make_spec(Algorithm::automatic, Measure::jaccard, 0.6), input);
  EXPECT_EQ(server.service.status().sessions, 0u);
}

// Other functions use the GPU of this process, and pay for its start.
TEST(ServiceBackend, OnlyJoinsGoThere) {
  RunningService server;
  ServiceSession session(server.path);
  GpuAttempt join(Device::automatic, join_backend), function(Device::automatic);
  EXPECT_TRUE(join.choose(100, 1));
  EXPECT_FALSE(function.choose(10'000, 1));
  EXPECT_EQ(function.outcome().refused, "there is no GPU");
  session.own.present = true;
  EXPECT_FALSE(function.choose(100, 1));
  EXPECT_EQ(function.outcome().refused, cpu_is_faster);
  EXPECT_TRUE(function.choose(10'000, 1));
  EXPECT_EQ(
      function.run([&](GpuBackend &gpu) { return &gpu; }, [] { return static_cast<GpuBackend *>(nullptr); }),
      &session.own);
}

TEST(Admission, GivesTurnsInOrder) {
  Admission admission;
  StopFlag stop, other;
  Admission::Turn early(admission), late(admission);
  EXPECT_TRUE(early.try_early());
  EXPECT_FALSE(late.try_early());
  early.leave();
  EXPECT_TRUE(late.try_early());
  std::vector<std::unique_ptr<Admission::Turn>> running;
  for (int i = 0; i < Admission::most_running; ++i) {
    running.push_back(std::make_unique<Admission::Turn>(admission));
    running.back()->wait(stop);
  }
  std::vector<int> order;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      Admission::Turn turn(admission);
      try {
        turn.wait(i == 1 ? other : stop);
        order.push_back(i);
      } catch (const Cancelled &) {
      }
    });
    while (admission.waiting() != i + 1) std::this_thread::yield();
  }
  EXPECT_TRUE(order.empty());
  other.set();  // a join that is cancelled does not hold the next one up
  threads[1].join();
  EXPECT_EQ(admission.waiting(), 2);
  // One place for two: each leaves it to the next one.
  running.pop_back();
  threads[0].join();
  threads[2].join();
  EXPECT_EQ(order, (std::vector<int>{0, 2}));
  late.leave();
  running.clear();
  EXPECT_EQ(admission.running(), 0);
}

// A turn that comes as the wait for it ends is taken.
TEST(Admission, ATurnThatComesLateIsTaken) {
  constexpr std::chrono::milliseconds longest{1};
  int decided = 0;
  for (int round = 0; round < 2000 && decided < 20; ++round) {
    Admission admission;
    const StopFlag stop;
    std::vector<std::unique_ptr<Admission::Turn>> running;
    for (int i = 0; i < Admission::most_running; ++i) {
      running.push_back(std::make_unique<Admission::Turn>(admission));
      running.back()->wait(stop);
    }
    std::atomic<bool> refused{false};
    std::thread waits([&] {
      Admission::Turn turn(admission);
      try {
        turn.wait(stop, longest);
      } catch (const Error &) {
        refused = true;
      }
    });
    // A waiting join checks its time again within milliseconds. Until then the place is free, and the time is
    // up.
    while (admission.waiting() == 0 && !refused) std::this_thread::yield();
    std::this_thread::sleep_for(longest);
    running.pop_back();
    const bool waiting = admission.waiting() == 1;
    waits.join();
    if (!waiting) continue;
    EXPECT_FALSE(refused);
    ++decided;
  }
  EXPECT_GT(decided, 0);
}

}  // namespace
}  // namespace simjoin::test
