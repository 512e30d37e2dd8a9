// Joins that may run on a GPU, with a fake backend that fails on demand.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "core/device/gpu_attempt.hpp"
#include "core/sets/set_blocks.hpp"
#include "unit/cpu_time.hpp"
#include "unit/drive.hpp"
#include "unit/fake_gpu.hpp"
#include "unit/process.hpp"
#include "unit/random_sets.hpp"
#include "unit/slices.hpp"

namespace simjoin::test {
namespace {

// The time and kind of the next failure of the backend's engines.
struct Fault {
  enum class At : uint8_t { never, start, creation, set, batch } at = At::never;
  int number = 0;  // of the set or the batch
  ErrorKind kind = ErrorKind::device_failure;
};

// Passes everything on to a CPU engine until the fault strikes.
class FakeGpuEngine final : public JoinEngine {
 public:
  FakeGpuEngine(const JoinSpec &spec, const Fault &fault) : engine_(make_cpu_engine(spec)), fault_(fault) {}

  void add_block(SharedBlock block) override {
    sets_ += static_cast<int>(block->rows());
    if (fault_.at == Fault::At::set && sets_ > fault_.number) fail_as(fault_.kind);
    engine_->add_block(std::move(block));
  }
  StepResult step(std::chrono::microseconds budget, Batch &out) override {
    if (fault_.at == Fault::At::batch && batches_ == fault_.number) fail_as(fault_.kind);
    const StepResult result = engine_->step(budget, out);
    if (result == StepResult::batch) ++batches_;
    return result;
  }
  uint32_t set_size(Side side, uint32_t row) const override { return engine_->set_size(side, row); }
  JoinStats stats() const override {
    JoinStats stats = engine_->stats();
    stats.device = "fake";
    return stats;
  }

 private:
  const std::unique_ptr<JoinEngine> engine_;
  const Fault fault_;
  int sets_ = 0;
  int batches_ = 0;
};

class FakeJoinBackend final : public FakeGpu {
 public:
  std::unique_ptr<JoinEngine> make_engine(const JoinSpec &spec) override {
    if (fault.at == Fault::At::creation) fail_as(fault.kind);
    return std::make_unique<FakeGpuEngine>(spec, fault);
  }
  void set_up() override {
    if (fault.at == Fault::At::start) fail_as(fault.kind);
    if (!set_up_) was_set_up_.set_value();
    set_up_ = true;
  }
  bool is_set_up_within(std::chrono::milliseconds wait) {
    return set_up_done_.wait_for(wait) == std::future_status::ready;
  }

  Fault fault;

 private:
  std::promise<void> was_set_up_;
  std::future<void> set_up_done_ = was_set_up_.get_future();
  bool set_up_ = false;
};

class DeviceChoiceTest : public testing::Test {
 protected:
  // Large enough that one thread is expected to take longer than the start of a GPU.
  template <class Token>
  static Input<Token> large_input(bool self_join) {
    RandomSets random(5);
    Input<Token> input;
    input.self_join = self_join;
    for (int i = 0; i < 12'000; ++i) {
      const IntSet set = i % 3 == 2 ? random.edited(as_ints(input.left.back()), 2, 40'000)
                                    : random.set(random.between(10, 60), 40'000, 2);
      input.left.push_back(as_tokens<Token>(set));
      if (!self_join && i % 2 == 0) input.right.push_back(input.left.back());
    }
    return input;
  }

  static JoinSpec spec_for(Device device) {
    JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.5, 1);
    spec.device = device;
    return spec;
  }

  struct Outcome {
    std::vector<Pair> pairs;
    JoinStats stats;
    std::unique_ptr<Notice> notice;
  };

  template <class Token>
  static Outcome join(JoinSpec spec, const Input<Token> &input) {
    spec.self_join = input.self_join;
    const std::unique_ptr<JoinEngine> engine = make_engine(spec);
    feed(*engine, input);
    Outcome outcome;
    outcome.pairs = pull(*engine);
    for (const Pair &pair : outcome.pairs) {
      EXPECT_LE(pair.overlap, engine->set_size(Side::left, pair.left));
    }
    outcome.stats = engine->stats();
    outcome.notice = engine->take_notice();
    return outcome;
  }

  // Returns what a self-join of 80,000 sets of `size` tokens has chosen before its first pair.
  static JoinStats chosen(int32_t size, double threshold, int threads) {
    JoinSpec spec = spec_for(Device::automatic);
    spec.self_join = true;
    spec.threshold = threshold;
    spec.threads = threads;
    const std::unique_ptr<JoinEngine> engine = make_engine(spec);
    IntSet set(static_cast<size_t>(size));
    for (int32_t row = 0; row < 80'000; ++row) {
      std::iota(set.begin(), set.end(), row % 4'000);
      add_row(*engine, Side::left, set);
    }
    Batch batch;
    engine->step(std::chrono::microseconds{1}, batch);  // chooses, if nothing has before
    return engine->stats();
  }

  FakeJoinBackend backend_;

 private:
  static IntSet as_ints(const IntSet &set) { return set; }
  static IntSet as_ints(const std::vector<int64_t> &set) {
    IntSet ints;
    for (const int64_t token : set) ints.push_back(static_cast<int32_t>(token >> 20));
    return ints;
  }
  static IntSet as_ints(const std::vector<std::string> &set) {
    IntSet ints;
    for (const std::string &token : set) ints.push_back(std::stoi(token));
    return ints;
  }
  template <class Token>
  static std::vector<Token> as_tokens(const IntSet &set) {
    std::vector<Token> tokens;
    for (const int32_t token : set) {
      if constexpr (std::is_same_v<Token, std::string>) {
        tokens.push_back(std::to_string(token));
      } else if constexpr (std::is_same_v<Token, int64_t>) {
        tokens.push_back(int64_t{token} << 20);
      } else {
        tokens.push_back(token);
      }
    }
    return tokens;
  }
};

TEST_F(DeviceChoiceTest, LargeJoinsUseTheGpuAndSmallOnesDoNot) {
  const Input<int32_t> input = large_input<int32_t>(true);
  EXPECT_EQ(join(spec_for(Device::automatic), input).stats.device, "fake");
  EXPECT_EQ(join(spec_for(Device::cpu), input).stats.device, "cpu");
  Input<int32_t> small{{input.left.begin(), input.left.begin() + 100}, {}, true};
  const Outcome outcome = join(spec_for(Device::automatic), small);
  EXPECT_EQ(outcome.stats.device, "cpu");
  EXPECT_NE(outcome.stats.gpu_refused, "");
  EXPECT_EQ(join(spec_for(Device::gpu), small).stats.device, "fake");
}

// Sets added many at a time give what they give one by one, also where the device is chosen among them.
TEST_F(DeviceChoiceTest, SetsCanBeAddedManyAtATime) {
  const auto check = [&]<class Token>(const Input<Token> &input) {
    for (const Device device : {Device::automatic, Device::cpu, Device::gpu}) {
      RandomSets random(9);
      JoinSpec spec = spec_for(device);
      const Outcome one_by_one = join(spec, input);
      const std::unique_ptr<JoinEngine> engine = make_engine(spec);
      const auto rows = [&] { return random.between(0, 300); };
      add_in_slices(*engine, Side::left, input.left, rows);
      add_in_slices(*engine, Side::right, input.right, rows);
      EXPECT_EQ(difference(one_by_one.pairs, pull(*engine)), "");
      EXPECT_EQ(engine->stats().device, one_by_one.stats.device);
      EXPECT_FALSE(one_by_one.pairs.empty());
    }
  };
  check(large_input<int32_t>(false));
  check(large_input<int64_t>(false));
  check(large_input<std::string>(false));
}

// A GPU that will pay is set up from the first rows on if it is known how many will come.
TEST_F(DeviceChoiceTest, AGpuStartsBesideTheInput) {
  const Input<int32_t> input = large_input<int32_t>(true);
  JoinSpec spec = spec_for(Device::automatic);
  spec.self_join = true;
  for (const double rows_expected : {0.0, 2'000'000.0}) {
    backend_.is_started = false;
    spec.rows_expected = rows_expected;
    const std::unique_ptr<JoinEngine> engine = make_engine(spec);
    for (size_t row = 0; row < 2'048; ++row) add_row(*engine, Side::left, input.left[row]);
    const bool starts = rows_expected > 0;
    EXPECT_EQ(backend_.is_set_up_within(starts ? std::chrono::minutes(10) : std::chrono::milliseconds(20)),
              starts);
    backend_.is_started = starts;
    for (size_t row = 2'048; row < input.left.size(); ++row) add_row(*engine, Side::left, input.left[row]);
    pull(*engine);
    EXPECT_EQ(engine->stats().device, starts ? "fake" : "cpu");
  }
}

// The report of a small join about a GPU that it did not look for.
TEST_F(DeviceChoiceTest, WithoutADriverTheCpuIsNotSooner) {
  const Input<int32_t> small{{{1, 2}, {2, 1}}, {}, true};
  EXPECT_EQ(join(spec_for(Device::automatic), small).stats.gpu_refused, cpu_is_faster);
  backend_.driver = false;
  EXPECT_EQ(join(spec_for(Device::automatic), small).stats.gpu_refused, "there is no GPU driver");
}

TEST_F(DeviceChoiceTest, WithoutADriverNoGpuIsLookedFor) {
  backend_.driver = false;
  for (const bool self_join : {true, false}) {
    const Input<std::string> input = large_input<std::string>(self_join);
    const Outcome outcome = join(spec_for(Device::automatic), input);
    EXPECT_EQ(outcome.stats.device, "cpu");
    EXPECT_EQ(outcome.stats.gpu_refused, no_gpu_driver);
    EXPECT_EQ(difference(run(spec_for(Device::cpu), input), outcome.pairs), "");
  }
}

TEST_F(DeviceChoiceTest, WhatTheDeviceTakesToStartCounts) {
  const Input<int32_t> input = large_input<int32_t>(true);
  backend_.is_started = false;
  EXPECT_EQ(join(spec_for(Device::automatic), input).stats.device, "cpu");
}

// Joins of 80,000 sets for which the expected times of the two devices differ at least four times. Constants
// that are fitted to other machines may thus change a good deal before another device is chosen.
TEST_F(DeviceChoiceTest, TheDeviceIsChosenByTheWorkTheThreadsAndTheStart) {
  struct Case {
    int32_t size;  // of each set
    double threshold;
    int threads;
    bool started;
    const char *device;
  };
  // Nearly all pairs of long sets are work: seconds of one thread.
  for (const Case &c : {Case{60, 0.1, 1, false, "fake"}, Case{60, 0.1, 64, false, "cpu"},
                        Case{4, 0.9, 1, false, "cpu"}, Case{4, 0.9, 1, true, "fake"}}) {
    SCOPED_TRACE(std::to_string(c.size) + " tokens, threshold " + std::to_string(c.threshold) +
                 ", threads: " + std::to_string(c.threads) + (c.started ? ", started" : ""));
    backend_.is_started = c.started;
    const JoinStats stats = chosen(c.size, c.threshold, c.threads);
    EXPECT_EQ(stats.device, c.device);
    const bool refused = std::string(c.device) == "cpu";
    EXPECT_EQ(stats.gpu_refused, refused ? "the CPU is estimated to be faster" : "");
  }
}

// Joins that would each save less than a start takes do so together. Then a GPU is set up once.
TEST_F(DeviceChoiceTest, JoinsThatComeAgainAndAgainStartAGpu) {
  const auto device = [] { return chosen(60, 0.9, 1).device; };
  backend_.is_started = false;
  int joins = 0;
  for (; joins < 20 && !backend_.is_set_up_within(std::chrono::milliseconds(0)); ++joins)
    EXPECT_EQ(device(), "cpu");
  EXPECT_GE(joins, 2);
  EXPECT_LT(joins, 20);
  EXPECT_EQ(device(), "cpu");  // there was no GPU, say
  backend_.is_started = true;
  EXPECT_EQ(device(), "fake");
}

TEST_F(DeviceChoiceTest, SmallSavingsDoNotStartAGpu) {
  backend_.is_started = false;
  for (int i = 0; i < 100; ++i) miss_on_gpu(10);
  EXPECT_EQ(missed_on_gpu(), 0);
}

TEST_F(DeviceChoiceTest, WhereThereIsNoGpuTheReasonIsGiven) {
  const Input<int32_t> input = large_input<int32_t>(true);
  const std::vector<Pair> expected = run(spec_for(Device::cpu), input);
  backend_.present = false;
  const Outcome outcome = join(spec_for(Device::automatic), input);
  EXPECT_EQ(difference(expected, outcome.pairs), "");
  EXPECT_EQ(outcome.stats.gpu_refused, "no driver");
  EXPECT_EQ(outcome.notice, nullptr);
  EXPECT_THROW(make_engine(spec_for(Device::gpu)), Error);
  set_gpu_backend(nullptr);
  EXPECT_THROW(make_engine(spec_for(Device::gpu)), Error);
  EXPECT_NE(join(spec_for(Device::automatic), input).stats.gpu_refused, "");
}

TEST_F(DeviceChoiceTest, AlgorithmsOfTheCpuStayThere) {
  const Input<int32_t> input = large_input<int32_t>(true);
  JoinSpec spec = spec_for(Device::automatic);
  spec.algorithm = Algorithm::ppjoin;
  const Outcome outcome = join(spec, input);
  EXPECT_EQ(outcome.stats.device, "cpu");
  EXPECT_NE(outcome.stats.gpu_refused.find("ppjoin"), std::string::npos);
  spec.device = Device::gpu;
  EXPECT_THROW(make_engine(spec), Error);
}

// This holds for every size. Without a GPU, the CPU makes its own choice.
TEST_F(DeviceChoiceTest, AlgorithmsOfTheGpuGoThere) {
  const Input<int32_t> small{{{1, 2, 3}, {1, 2, 3, 4}, {5}}, {}, true};
  for (const Algorithm algorithm :
       {Algorithm::gssjoin, Algorithm::fgssjoin, Algorithm::sf_gssjoin, Algorithm::cpu_gpu}) {
    JoinSpec spec = spec_for(Device::automatic);
    spec.algorithm = algorithm;
    backend_.present = true;
    Outcome outcome = join(spec, small);
    EXPECT_EQ(outcome.stats.device, "fake");
    EXPECT_EQ(difference({{0, 1, 3}}, outcome.pairs), "");
    backend_.present = false;
    outcome = join(spec, small);
    EXPECT_EQ(outcome.stats.device, "cpu");
    EXPECT_EQ(outcome.stats.gpu_refused, "no driver");
    EXPECT_EQ(difference({{0, 1, 3}}, outcome.pairs), "");
    spec.device = Device::cpu;
    try {
      make_engine(spec);
      ADD_FAILURE() << name_of(algorithm) << " on the CPU";
    } catch (const Error &error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_NE(std::string(error.what()).find(name_of(algorithm)), std::string::npos);
      EXPECT_NE(error.hint().find("simjoin.algorithm"), std::string::npos);
    }
  }
}

// The result of a look for a GPU, until it is changed.
class SearchedBackend final : public FakeGpu {
 public:
  bool available(std::string &reason) override { return search_.available(reason); }
  void look_again() override { search_.look_again(); }

  GpuLook found;
  int looks = 0;

 private:
  GpuSearch search_{[this] {
    ++looks;
    return found;
  }};
};

TEST(GpuSearch, LooksAgainOnlyWhereThatMayFindMore) {
  SearchedBackend backend;
  const auto expect = [&](bool usable, const std::string &why, int looks) {
    std::string reason = "?";
    EXPECT_EQ(backend.available(reason), usable);
    EXPECT_EQ(reason, why);
    EXPECT_EQ(backend.looks, looks);
  };
  backend.found = {false, false, "out of memory"};
  expect(false, "out of memory", 1);
  backend.found = {false, true, "no driver"};
  expect(false, "out of memory", 1);  // the same query
  backend.look_again();
  expect(false, "no driver", 2);
  backend.found = {true, true, ""};
  backend.look_again();
  expect(false, "no driver", 2);  // for good

  SearchedBackend with_gpu;
  with_gpu.found = {true, true, ""};
  std::string reason = "?";
  EXPECT_TRUE(with_gpu.available(reason));
  EXPECT_EQ(reason, "");
  with_gpu.found = {false, true, "lost"};
  with_gpu.look_again();
  EXPECT_TRUE(with_gpu.available(reason));
  EXPECT_EQ(with_gpu.looks, 1);
}

// A list may be empty because the look for GPUs failed.
TEST(GpuList, IsLookedForUntilThereAreSome) {
  int looks = 0;
  GpuList list([&] { return ++looks < 3 ? std::vector<int>{} : std::vector<int>{2, 5}; });
  EXPECT_TRUE(list.get().empty());
  EXPECT_TRUE(list.get().empty());
  EXPECT_EQ(list.get(), (std::vector<int>{2, 5}));
  EXPECT_EQ(list.get(), (std::vector<int>{2, 5}));
  EXPECT_EQ(looks, 3);
}

// Threads of the session ask while one of them gives up the GPU.
TEST(GpuFailure, ManyThreadsMayAskAndTell) {
  FakeGpu backend;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      for (int i = 0; i < 2000; ++i) {
        if (thread % 2 == 0) give_gpu_up(std::string(40, static_cast<char>('a' + i % 2)));
        const std::string failure = gpu_failure();
        EXPECT_TRUE(failure.empty() || failure == std::string(40, failure[0]));
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_FALSE(gpu_failure().empty());
}

// Threads that a driver starts during the look for GPUs must not take the signals of the process.
TEST(GpuSearch, LooksWithSignalsBlocked) {
  ASSERT_FALSE(interrupts_are_blocked());
  bool blocked = false, blocked_in_thread = false;
  GpuSearch search([&] {
    blocked = interrupts_are_blocked();
    std::thread([&] { blocked_in_thread = interrupts_are_blocked(); }).join();
    return GpuLook{true, true, {}};
  });
  std::string reason;
  EXPECT_TRUE(search.available(reason));
  EXPECT_TRUE(blocked);
  EXPECT_TRUE(blocked_in_thread);
  EXPECT_FALSE(interrupts_are_blocked());
}

// Hands over many pairs of nonexistent rows, in no order, and then fails.
class RunawayEngine final : public JoinEngine {
 public:
  static constexpr uint32_t batches = 80, batch_pairs = 1 << 17;

  void add_block(SharedBlock) override {}
  StepResult step(std::chrono::microseconds, Batch &out) override {
    if (given_ == batches) fail_as(ErrorKind::device_failure);
    ++given_;
    out.clear();
    for (uint32_t i = 0; i < batch_pairs; ++i) {
      state_ = state_ * 0x5851F42D4C957F2Du + 1;
      out.push(static_cast<uint32_t>(state_ >> 33) | 1u << 31, static_cast<uint32_t>(state_ >> 20), 1);
    }
    return StepResult::batch;
  }
  uint32_t set_size(Side, uint32_t) const override { return 1; }
  JoinStats stats() const override { return {}; }

 private:
  uint32_t given_ = 0;
  uint64_t state_ = 1;
};

class RunawayBackend final : public FakeGpu {
 public:
  std::unique_ptr<JoinEngine> make_engine(const JoinSpec &) override {
    return std::make_unique<RunawayEngine>();
  }
};

// The sort of the pairs that were handed over takes a second, in which the caller must look for interrupts.
TEST(DeviceFault, NoStepIsLongWhereAGpuFailsAfterManyPairs) {
  constexpr std::chrono::milliseconds longest{300};
  RunawayBackend backend;
  JoinSpec spec = make_spec(Algorithm::gssjoin, Measure::jaccard, 0.5, 1);
  spec.device = Device::automatic;
  spec.self_join = true;
  for (const bool to_the_end : {true, false}) {
    backend.repair();
    std::unique_ptr<JoinEngine> engine = make_engine(spec);
    for (int32_t row = 0; row < 1000; ++row) add_row(*engine, Side::left, IntSet{row / 2, row / 2 + 5000});
    size_t pairs = 0;
    Batch batch;
    for (StepResult result = StepResult::working; result != StepResult::done;) {
      EXPECT_LT(time_of([&] { result = engine->step(step_budget, batch); }), longest);
      if (result == StepResult::batch) pairs += batch.size();
      if (!to_the_end && engine->take_notice()) break;
    }
    if (to_the_end) {
      EXPECT_EQ(pairs, size_t{RunawayEngine::batches} * RunawayEngine::batch_pairs + 500);
      EXPECT_NE(engine->take_notice(), nullptr);
    } else {
      EXPECT_LT(time_of([&] { engine.reset(); }, CLOCK_PROCESS_CPUTIME_ID), longest);
    }
  }
}

template <class Token>
class DeviceFaultTest : public DeviceChoiceTest {};
using TokenTypes = testing::Types<int32_t, int64_t, std::string>;
TYPED_TEST_SUITE(DeviceFaultTest, TokenTypes);

// Wherever the GPU fails, the join gives the pairs of the CPU, each once, and the user gets a notice.
TYPED_TEST(DeviceFaultTest, AFailingGpuIsReplaced) {
  for (const bool self_join : {true, false}) {
    const Input<TypeParam> input = this->template large_input<TypeParam>(self_join);
    const std::vector<Pair> expected = run(this->spec_for(Device::cpu), input);
    ASSERT_GT(expected.size(), 1000u);
    for (const Fault &fault : {Fault{Fault::At::creation, 0, ErrorKind::device_failure},
                               Fault{Fault::At::set, 0, ErrorKind::limit_exceeded},
                               Fault{Fault::At::set, 5000, ErrorKind::device_failure},
                               Fault{Fault::At::set, 4000, ErrorKind::device_unavailable},
                               Fault{Fault::At::batch, 0, ErrorKind::limit_exceeded},
                               Fault{Fault::At::batch, 1, ErrorKind::device_failure}}) {
      this->backend_.fault = fault;
      this->backend_.repair();
      const auto outcome = this->join(this->spec_for(Device::automatic), input);
      EXPECT_EQ(difference(expected, outcome.pairs), "");
      EXPECT_EQ(outcome.stats.device, "cpu");
      EXPECT_EQ(outcome.stats.gpu_refused, "injected");
      ASSERT_NE(outcome.notice, nullptr);
      EXPECT_EQ(outcome.notice->cause, cause_of(fault.kind));
      EXPECT_EQ(gpu_failure().empty(), fault.kind != ErrorKind::device_failure);
    }
  }
}

TEST_F(DeviceChoiceTest, AfterAFailureTheProcessLeavesTheGpuAlone) {
  const Input<int32_t> input = large_input<int32_t>(true);
  backend_.fault = {Fault::At::batch, 0, ErrorKind::device_failure};
  EXPECT_EQ(join(spec_for(Device::automatic), input).stats.device, "cpu");
  backend_.fault = {};
  const Outcome outcome = join(spec_for(Device::automatic), input);
  EXPECT_EQ(outcome.stats.device, "cpu");
  EXPECT_NE(outcome.stats.gpu_refused.find("injected"), std::string::npos);
  EXPECT_EQ(outcome.notice, nullptr);
  EXPECT_THROW(make_engine(spec_for(Device::gpu)), Error);
}

// The next join tries a GPU again that was in use by others.
TEST_F(DeviceChoiceTest, AfterTroubleThatPassesTheProcessUsesTheGpu) {
  const Input<int32_t> input = large_input<int32_t>(true);
  backend_.fault = {Fault::At::creation, 0, ErrorKind::device_unavailable};
  const Outcome first = join(spec_for(Device::automatic), input);
  EXPECT_EQ(first.stats.device, "cpu");
  EXPECT_EQ(first.stats.gpu_refused, "injected");
  ASSERT_NE(first.notice, nullptr);
  EXPECT_EQ(first.notice->cause, Notice::Cause::unavailable);
  EXPECT_EQ(gpu_failure(), "");
  backend_.fault = {};
  EXPECT_EQ(join(spec_for(Device::automatic), input).stats.device, "fake");
}

// A GPU that is slower than the CPU is not used, unless it is demanded.
TEST_F(DeviceChoiceTest, ASlowGpuIsNotChosen) {
  const Input<int32_t> input = large_input<int32_t>(true);
  backend_.slower = {200, 200};
  const Outcome outcome = join(spec_for(Device::automatic), input);
  EXPECT_EQ(outcome.stats.device, "cpu");
  EXPECT_EQ(outcome.stats.gpu_refused, "the CPU is estimated to be faster");
  EXPECT_EQ(outcome.notice, nullptr);
  EXPECT_EQ(join(spec_for(Device::gpu), input).stats.device, "fake");
  GpuAttempt attempt(Device::automatic);
  EXPECT_FALSE(attempt.choose(1000, 10));
  EXPECT_EQ(attempt.outcome().refused, "the CPU is estimated to be faster");
  backend_.slower = {50, 50};
  EXPECT_TRUE(attempt.choose(1000, 10));
}

// The engine of the CPU takes no more memory than for integers, so it does not number the texts again.
TEST_F(DeviceChoiceTest, TextsAreNumberedOnce) {
  constexpr int32_t sets = 20'000, set_tokens = 20;
  Input<int32_t> integers{{}, {}, true};
  Input<std::string> texts{{}, {}, true};
  for (int32_t row = 0; row < sets; ++row) {
    IntSet set(set_tokens);
    std::iota(set.begin(), set.end(), row * set_tokens - row % 2 * (set_tokens - 3));
    integers.left.push_back(set);
    std::vector<std::string> &words = texts.left.emplace_back();
    for (const int32_t token : set) words.push_back("a long text " + std::to_string(token));
  }
  JoinStats of_integers;
  const std::vector<Pair> expected = run(spec_for(Device::cpu), integers, &of_integers);
  EXPECT_EQ(expected.size(), size_t{sets / 2});
  for (const Fault &fault : {Fault{}, Fault{Fault::At::batch, 0, ErrorKind::device_failure}}) {
    backend_.repair();
    backend_.fault = fault;
    backend_.slower = fault.at == Fault::At::never ? GpuSlowdown{200, 200} : GpuSlowdown{};
    JoinSpec spec = spec_for(Device::automatic);
    spec.self_join = true;
    if (fault.at != Fault::At::never) spec.algorithm = Algorithm::gssjoin;  // which wants a GPU
    const std::unique_ptr<JoinEngine> engine = make_engine(spec);
    feed(*engine, texts);
    const size_t recorded = engine->stats().memory_peak;
    EXPECT_EQ(difference(expected, pull(*engine)), "");
    EXPECT_EQ(engine->stats().device, "cpu");
    EXPECT_LT(engine->stats().memory_peak, recorded + of_integers.memory_peak * 3 / 2);
  }
}

// A join whose texts are kept within the limit, but which needs a file on the CPU.
TEST_F(DeviceChoiceTest, NumbersOfTextsGoToTheFile) {
  const Input<std::string> input = large_input<std::string>(true);
  const std::vector<Pair> expected = run(spec_for(Device::cpu), input);
  backend_.slower = {200, 200};
  JoinSpec spec = spec_for(Device::automatic);
  spec.self_join = true;
  const auto join_within = [&](size_t limit) {
    spec.memory_limit = limit;
    const std::unique_ptr<JoinEngine> engine = make_engine(spec);
    feed(*engine, input);
    std::vector<Pair> pairs;
    Batch batch;
    bool has_file = false;
    for (StepResult result = StepResult::working; result != StepResult::done;) {
      if (!has_file && engine->wants_spill_file()) {
        engine->set_spill_file(unlinked_file(), UINT64_MAX);
        has_file = true;
      }
      result = engine->step(std::chrono::microseconds(100), batch);
      for (size_t i = 0; result == StepResult::batch && i < batch.size(); ++i)
        pairs.push_back({batch.left[i], batch.right[i], batch.overlap[i]});
    }
    std::sort(pairs.begin(), pairs.end());
    EXPECT_EQ(difference(expected, pairs), "");
    EXPECT_EQ(engine->stats().gpu_refused, cpu_is_faster);
    EXPECT_EQ(engine->stats().spilled_bytes > 0, has_file);
    return engine->stats();
  };
  const JoinStats beyond = join_within(size_t{6} << 20);
  EXPECT_GT(beyond.spilled_bytes, 0u);
  EXPECT_EQ(join_within(beyond.one_part_limit).spilled_bytes, 0u);
}

// The GPU is set up beside the input. A failure there is reported as if it came later.
TEST_F(DeviceChoiceTest, AFailureOfTheStartLeavesTheGpu) {
  const Input<int32_t> input = large_input<int32_t>(true);
  for (const ErrorKind kind : {ErrorKind::device_failure, ErrorKind::device_unavailable}) {
    backend_.repair();
    backend_.is_started = false;
    backend_.fault = {Fault::At::start, 0, kind};
    JoinSpec spec = spec_for(Device::automatic);
    spec.algorithm = Algorithm::gssjoin;  // which wants a GPU
    const Outcome outcome = join(spec, input);
    EXPECT_EQ(outcome.stats.device, "cpu");
    ASSERT_NE(outcome.notice, nullptr);
    EXPECT_EQ(outcome.notice->cause, cause_of(kind));
    EXPECT_EQ(gpu_failure(), kind == ErrorKind::device_failure ? "injected" : "");
    EXPECT_EQ(difference(run(spec_for(Device::cpu), input), outcome.pairs), "");
  }
}

TEST_F(DeviceChoiceTest, WithDeviceGpuAFailureIsAnError) {
  const Input<int32_t> input = large_input<int32_t>(true);
  backend_.fault = {Fault::At::set, 10, ErrorKind::limit_exceeded};
  EXPECT_THROW(join(spec_for(Device::gpu), input), Error);
  backend_.fault = {Fault::At::set, 10, ErrorKind::device_failure};
  EXPECT_THROW(join(spec_for(Device::gpu), input), Error);
  EXPECT_EQ(gpu_failure(), "") << "the next join may try the GPU again";
}

// Data that is kept in case the GPU fails respects the memory limit.
TEST_F(DeviceChoiceTest, TooManySetsToKeepAreJoinedOnTheCpu) {
  const Input<int32_t> input = large_input<int32_t>(true);
  JoinSpec spec = spec_for(Device::automatic);
  const std::vector<Pair> expected = run(spec, input);
  spec.memory_limit = size_t{1} << 20;
  const Outcome outcome = join(spec, input);
  EXPECT_EQ(difference(expected, outcome.pairs), "");
  EXPECT_EQ(outcome.stats.device, "cpu");
  EXPECT_NE(outcome.stats.gpu_refused.find("memory_limit"), std::string::npos);
}

// Sets that wait for the choice of a device, and are then passed on, keep to the memory limit. This holds for
// sets of every size, and without a GPU.
TYPED_TEST(DeviceFaultTest, RecordedSetsKeepToTheLimit) {
  using Token = TypeParam;
  constexpr size_t limit = size_t{1} << 20;
  for (const bool present : {false, true}) {
    for (const int size : {1, 5'000, 200'000}) {
      SCOPED_TRACE(std::to_string(size) + " tokens, " + (present ? "a GPU" : "no GPU"));
      this->backend_.present = present;
      JoinSpec spec = this->spec_for(Device::automatic);
      spec.self_join = true;
      spec.threshold = 0.9;
      spec.memory_limit = limit;
      const std::unique_ptr<JoinEngine> engine = make_engine(spec);
      const int rows = 2'000'000 / std::max(size, 8);
      for (int row = 0; row < rows; ++row) {
        std::vector<Token> set;
        for (int i = 0; i < size; ++i) {
          if constexpr (std::is_same_v<Token, std::string>) {
            set.push_back(std::to_string(row + i));
          } else {
            set.push_back(static_cast<Token>(row + i));
          }
        }
        add_row(*engine, Side::left, set);
        // The size of a set of integers that is passed on. For other types, twice the memory to number its
        // tokens.
        const size_t set_bytes = set.size() * (std::is_same_v<Token, int32_t> ? 16 : 192);
        ASSERT_LE(engine->stats().memory_peak, 4 * limit + set_bytes) << "after " << row + 1 << " sets";
      }
    }
  }
}

TEST_F(DeviceChoiceTest, EmptySetsHaveAnyType) {
  JoinSpec spec = spec_for(Device::automatic);
  const auto engine = make_engine(spec);
  add_row(*engine, Side::left, IntSet{});
  add_row(*engine, Side::left, std::vector<int64_t>{1, int64_t{1} << 40});
  add_row(*engine, Side::left, IntSet{});
  add_row(*engine, Side::right, std::vector<int64_t>{int64_t{1} << 40, 1});
  EXPECT_EQ(difference({{1, 0, 2}}, pull(*engine)), "");
}

TEST_F(DeviceChoiceTest, MixedTokenTypesAreAnError) {
  const auto engine = make_engine(spec_for(Device::automatic));
  add_row(*engine, Side::left, IntSet{1, 2});
  EXPECT_THROW(add_row(*engine, Side::right, std::vector<std::string>{"a"}), Error);
}

}  // namespace
}  // namespace simjoin::test
