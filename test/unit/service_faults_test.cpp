// What happens to joins if the GPU service or its sessions fail.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "core/base/error.hpp"
#include "core/base/interruption.hpp"
#include "core/base/worker_pool.hpp"
#include "unit/cpu_time.hpp"
#include "unit/process.hpp"
#include "unit/random_sets.hpp"
#include "unit/service_drive.hpp"

namespace simjoin::test {
namespace {

// A join that one thread of the CPU takes long for, so that `auto` chooses the service.
class ServiceFaults : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    input_ = new Input<int32_t>(sets_of_several_blocks(false, 40'000));
    expected_ = new std::vector<Pair>(run(spec(), *input_));
  }
  static void TearDownTestSuite() {
    delete input_;
    delete expected_;
  }
  static JoinSpec spec() { return make_spec(Algorithm::automatic, Measure::jaccard, 0.5, 1); }

  static inline Input<int32_t> *input_;
  static inline std::vector<Pair> *expected_;
};

// The service is killed as soon as it is seen at some stage of a join.
TEST_F(ServiceFaults, AJoinGoesOnWithoutTheService) {
  using Stage = bool (*)(const ServiceStatus &);
  const Stage stages[] = {[](const ServiceStatus &now) { return now.sessions > 1; },
                          [](const ServiceStatus &now) { return now.memory_used > 0; },
                          [](const ServiceStatus &now) { return now.running > 0; }};
  int noticed = 0;
  for (int round = 0; round < 6; ++round) {
    const std::string path = service_path();
    auto server = std::make_unique<ServiceProcess>(path, round % 2 == 0 ? 32 * mebibyte : 4 * mebibyte);
    wait_for_service(path);
    ServiceSession session(path);
    CountingBackend none;
    none.present = false;
    ClientBackend watch(none, path);
    std::atomic<bool> ended{false};
    std::thread killer([&, stage = stages[round / 2]] {
      comes_true([&] {
        const auto now = watch.status();
        return ended || (now && stage(*now));
      });
      server->kill();
    });
    std::unique_ptr<Notice> notice;
    const auto pairs = join_on(Device::automatic, spec(), *input_, nullptr, &notice);
    ended = true;
    killer.join();
    EXPECT_EQ(difference(*expected_, pairs), "");
    if (notice) {
      ++noticed;
      EXPECT_EQ(notice->cause, Notice::Cause::unavailable);
    }
    EXPECT_EQ(gpu_failure(), "");
    // The next join finds a new service.
    server = std::make_unique<ServiceProcess>(path);
    wait_for_service(path);
    session.backend.look_again();
    JoinStats stats;
    EXPECT_EQ(difference(*expected_, join_on(Device::automatic, spec(), *input_, &stats)), "");
    EXPECT_NE(stats.device.find("(service)"), std::string::npos);
    std::filesystem::remove(path);
  }
  EXPECT_GT(noticed, 0);
}

// The service ends between two joins of a session.
TEST_F(ServiceFaults, AnIdleSessionFindsTheNextService) {
  const std::string path = service_path();
  auto server = std::make_unique<ServiceProcess>(path, 16 * mebibyte);
  wait_for_service(path);
  ServiceSession session(path);
  for (int round = 0; round < 2; ++round) {
    session.backend.look_again();
    JoinStats stats;
    std::unique_ptr<Notice> notice;
    EXPECT_EQ(difference(*expected_, join_on(Device::automatic, spec(), *input_, &stats, &notice)), "");
    EXPECT_FALSE(notice);
    EXPECT_EQ(session.own.set_ups, 0);
    EXPECT_NE(stats.device.find("(service)"), std::string::npos);
    server->kill();
    server = std::make_unique<ServiceProcess>(path, 16 * mebibyte);
    wait_for_service(path);
  }
  std::filesystem::remove(path);
}

TEST_F(ServiceFaults, SessionsThatEndLeaveNothing) {
  RunningService server;
  std::mt19937 random(8);
  for (int round = 0; round < 20; ++round) {
    ServiceSession session(server.path);
    JoinSpec spec = this->spec();
    spec.device = Device::gpu;
    const auto engine = make_engine(spec);
    const size_t rows = random() % (2 * input_->left.size());
    for (size_t row = 0; row < std::min(rows, input_->left.size()); ++row)
      add_row(*engine, Side::left, input_->left[row]);
    if (rows < input_->left.size()) continue;
    for (const IntSet &set : input_->right) add_row(*engine, Side::right, set);
    Batch batch;
    for (size_t steps = random() % 10; steps > 0; --steps) engine->step(step_budget, batch);
  }
  EXPECT_TRUE(server.comes_to_rest());
}

TEST_F(ServiceFaults, AnAbandonedJoinStopsAtOnce) {
  RunningService server;
  ServiceSession session(server.path);
  JoinSpec spec = this->spec();
  spec.device = Device::gpu;
  auto engine = make_engine(spec);
  feed(*engine, *input_);
  Batch batch;
  engine->step(step_budget, batch);
  EXPECT_TRUE(ends_at_once([&] { engine.reset(); }));
  EXPECT_TRUE(server.comes_to_rest());
}

// No notice comes of a process that hangs. At every moment the join goes on without it.
TEST_F(ServiceFaults, AJoinGoesOnIfTheServiceHangs) {
  for (const int steps : {-1, 0, 1}) {
    const std::string path = service_path();
    ServiceProcess process(path);
    wait_for_service(path);
    ServiceSession session(path);
    JoinSpec spec = this->spec();
    spec.self_join = input_->self_join;
    const auto engine = make_engine(spec);
    if (steps < 0) {
      ASSERT_TRUE(session.backend.status().has_value());
      process.hang();
    }
    feed(*engine, *input_);
    Batch batch;
    for (int i = 0; i < steps; ++i) ASSERT_EQ(engine->step(step_budget, batch), StepResult::working);
    process.hang();
    EXPECT_EQ(difference(*expected_, pull(*engine)), "");
    std::filesystem::remove(path);
  }
}

TEST_F(ServiceFaults, AQuestionToAServiceThatHangsCanBeGivenUp) {
  const std::string path = service_path();
  ServiceProcess process(path);
  wait_for_service(path);
  ServiceSession session(path);
  ASSERT_TRUE(session.backend.status().has_value());
  process.hang();
  set_interruption([] { return true; });
  for (const bool connected : {true, false}) {
    EXPECT_THROW(session.backend.status(), Cancelled) << connected;
    session.backend.look_again();
  }
  set_interruption(nullptr);
  std::filesystem::remove(path);
}

// One join too many is refused alone.
TEST_F(ServiceFaults, ASessionHasManyJoinsButNotAny) {
  RunningService server;
  ServiceSession session(server.path);
  const Input<int32_t> input = self_input(all_shapes[0], 1);
  JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.6);
  spec.self_join = true;
  spec.device = Device::gpu;
  std::vector<std::unique_ptr<JoinEngine>> open;
  for (int i = 0; i < 257; ++i) {
    open.push_back(make_engine(spec));
    feed(*open.back(), input);
  }
  EXPECT_THROW(pull(*open.back()), Error);
  const std::vector<Pair> expected = Oracle(input).join(Measure::jaccard, 0.6);
  EXPECT_EQ(difference(expected, pull(*open.front())), "");
  open.pop_back();
  open.pop_back();
  open.push_back(make_engine(spec));
  feed(*open.back(), input);
  EXPECT_EQ(difference(expected, pull(*open.back())), "");
}

// A session that does not take its pairs gives its place to others.
TEST_F(ServiceFaults, ACursorHoldsNobodyUp) {
  RunningService server;
  const Input<int32_t> many = self_input(all_shapes[2], 6);
  ServiceSession session(server.path);
  JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0, 1);
  spec.self_join = true;
  spec.device = Device::gpu;
  std::vector<std::unique_ptr<JoinEngine>> open;
  Input<int32_t> larger = many;
  for (int i = 0; i < 3; ++i) larger.left.insert(larger.left.end(), many.left.begin(), many.left.end());
  for (int i = 0; i < 4; ++i) {
    open.push_back(make_engine(spec));
    feed(*open.back(), larger);
    Batch batch;
    while (open.back()->step(step_budget, batch) != StepResult::batch) {
    }
  }
  const auto pairs = join_on(Device::gpu, make_spec(Algorithm::automatic, Measure::jaccard, 0.6), many);
  EXPECT_EQ(difference(Oracle(many).join(Measure::jaccard, 0.6), pairs), "");
  const size_t all = larger.left.size() * (larger.left.size() - 1) / 2;
  for (auto &engine : open) EXPECT_GT(pull(*engine).size(), all - 5'000);
}

// Fails with the kind of an error at its first step.
class FailingBackend final : public CountingBackend {
 public:
  std::unique_ptr<JoinEngine> make_engine(const JoinSpec &spec) override {
    if (engines > 0 && fails) throw Error(kind, "injected", "none");
    return CountingBackend::make_engine(spec);
  }
  ErrorKind kind = ErrorKind::device_failure;
  std::atomic<bool> fails{true};
};

TEST_F(ServiceFaults, ErrorsOfTheEngineReachTheSession) {
  for (const ErrorKind kind :
       {ErrorKind::device_failure, ErrorKind::limit_exceeded, ErrorKind::device_unavailable}) {
    FailingBackend failing;
    failing.kind = kind;
    RunningService server(16 * mebibyte, &failing);
    ServiceSession session(server.path);
    std::unique_ptr<Notice> notice;
    EXPECT_EQ(difference(*expected_, join_on(Device::automatic, spec(), *input_, nullptr, &notice)), "");
    ASSERT_TRUE(notice);
    EXPECT_EQ(notice->message, "injected");
    EXPECT_EQ(notice->cause,
              kind == ErrorKind::limit_exceeded ? Notice::Cause::too_large : Notice::Cause::unavailable);
    EXPECT_EQ(gpu_failure(), "");  // a new service may find the GPU again
    EXPECT_EQ(server.lost, kind == ErrorKind::device_failure ? 1 : 0);
    failing.fails = false;
    JoinStats stats;
    join_on(Device::automatic, spec(), *input_, &stats);
    EXPECT_NE(stats.device.find("(service)"), std::string::npos);
  }
}

}  // namespace
}  // namespace simjoin::test
