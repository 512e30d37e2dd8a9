// Joins of sets with weights by the GPU service are those of the CPU, also after failures.
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <string>
#include <thread>

#include "unit/process.hpp"
#include "unit/raw_session.hpp"
#include "unit/service_drive.hpp"
#include "unit/weighted_oracle.hpp"

namespace simjoin::test {
namespace {

// Calls something at the begin of each search.
class WatchedBackend final : public CountingBackend {
 public:
  WeightedDevice *weighted() override { return &device_; }

  std::function<void(const StopFlag &)> before = [](const StopFlag &) {};

 private:
  class Watched final : public CpuWeighted {
   public:
    explicit Watched(WatchedBackend &backend) : backend_(backend) {}
    void find(const WeightedProblem &problem,
              const std::function<void(const WeightedFinds &)> &take) override {
      backend_.before(problem.pool.stop());
      CpuWeighted::find(problem, take);
    }

   private:
    WatchedBackend &backend_;
  };

  Watched device_{*this};
};

void wait_until_set(const StopFlag &stop) {
  while (!stop.is_set()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  stop.check();
}

JoinSpec spec_of(const Collection &input, Device device) {
  JoinSpec spec;
  spec.measure = input.measure;
  spec.threshold = 0.4;
  spec.self_join = input.self_join;
  spec.threads = 2;
  spec.device = device;
  return spec;
}

std::vector<Found> join_weighted(const Collection &input, Device device, JoinStats *stats = nullptr,
                                 std::unique_ptr<Notice> *notice = nullptr) {
  const auto join = make_weighted_join(spec_of(input, device));
  feed_sets(*join, input);
  const auto pairs = pull_similarities(*join);
  if (stats != nullptr) *stats = join->stats();
  if (notice != nullptr) *notice = join->take_notice();
  return pairs;
}

Collection some_sets(bool self_join, uint32_t rows, Measure measure = Measure::jaccard,
                     Weights weights = all_kinds[0]) {
  RandomWeights random(21);
  return random_collection(random, weights, self_join, rows, measure);
}

class ServiceSearches : public testing::Test {
 protected:
  WatchedBackend watched_;
  RunningService server_{16 * mebibyte, &watched_};
  ServiceSession session_{server_.path};
};

TEST_F(ServiceSearches, AreThoseOfTheCpu) {
  uint64_t joins = 0;
  for (const bool self_join : {true, false}) {
    for (const Measure measure : {Measure::jaccard, Measure::cosine}) {
      for (const Weights weights : all_kinds) {
        const Collection input = some_sets(self_join, 200, measure, weights);
        JoinStats stats;
        EXPECT_EQ(join_weighted(input, Device::gpu, &stats), join_weighted(input, Device::cpu));
        EXPECT_EQ(stats.device, "cpu (service)");
        EXPECT_EQ(session_.backend.status()->joins, ++joins);
      }
    }
  }
  EXPECT_TRUE(server_.comes_to_rest());
}

// Sets and candidates of many messages.
TEST_F(ServiceSearches, OfManySets) {
  const Collection input = some_sets(true, 1'500);
  EXPECT_EQ(join_weighted(input, Device::gpu), join_weighted(input, Device::cpu));
}

TEST_F(ServiceSearches, EndAtOnceIfTheyAreGivenUp) {
  const Collection input = some_sets(true, 1'000);
  watched_.before = wait_until_set;
  for (const int after_ms : {0, 1, 3, 10, 30, 100}) {
    auto join = make_weighted_join(spec_of(input, Device::gpu));
    feed_sets(*join, input);
    Batch batch;
    EXPECT_EQ(join->step(std::chrono::milliseconds{after_ms}, batch), StepResult::working);
    join.reset();
    EXPECT_TRUE(server_.comes_to_rest());
  }
  watched_.before = [](const StopFlag &) {};
  EXPECT_EQ(join_weighted(input, Device::gpu), join_weighted(input, Device::cpu));
}

TEST_F(ServiceSearches, TellOfErrors) {
  const Collection input = some_sets(true, 100);
  for (const ErrorKind kind :
       {ErrorKind::device_failure, ErrorKind::limit_exceeded, ErrorKind::invalid_argument}) {
    watched_.before = [&](const StopFlag &) { throw Error(kind, "injected", "none"); };
    try {
      join_weighted(input, Device::gpu);
      ADD_FAILURE();
    } catch (const Error &error) {
      EXPECT_EQ(error.kind(), kind == ErrorKind::device_failure ? ErrorKind::device_unavailable : kind);
      EXPECT_STREQ(error.what(), "injected");
    }
  }
  EXPECT_EQ(server_.lost, 1);
  watched_.before = [](const StopFlag &) { throw std::bad_alloc(); };
  EXPECT_THROW(join_weighted(input, Device::gpu), Error);
  watched_.before = [](const StopFlag &) {};
  EXPECT_EQ(join_weighted(input, Device::gpu), join_weighted(input, Device::cpu));
  EXPECT_TRUE(server_.comes_to_rest());
}

// A session in a process of its own, which joins by the service at the path after begin(). It is
// made while this process has one thread: another one could hold a lock that the new process waits for in
// vain.
class SessionProcess {
 public:
  explicit SessionProcess(const std::string &path) : pid_(fork()) {
    if (pid_ != 0) {
      waitpid(pid_, nullptr, WUNTRACED);
      return;
    }
    raise(SIGSTOP);
    CpuBackend own;
    ClientBackend backend(own, path);
    set_gpu_backend(&own, &backend);
    join_weighted(some_sets(true, 1'000), Device::gpu);
    _exit(1);
  }
  ~SessionProcess() { end(); }
  SessionProcess(const SessionProcess &) = delete;
  SessionProcess &operator=(const SessionProcess &) = delete;

  void begin() const { kill(pid_, SIGCONT); }

  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_;
};

TEST(ServiceSearchFaults, OfASessionThatIsKilledEnd) {
  const std::string path = service_path();
  SessionProcess sessions[] = {SessionProcess(path), SessionProcess(path), SessionProcess(path)};
  WatchedBackend watched;
  watched.before = wait_until_set;
  const RunningService server(16 * mebibyte, &watched, path);
  int after_ms = 0;
  for (SessionProcess &session : sessions) {
    session.begin();
    EXPECT_TRUE(comes_true([&] { return server.service.status().running > 0; }));
    std::this_thread::sleep_for(std::chrono::milliseconds{after_ms});
    session.end();
    EXPECT_TRUE(server.comes_to_rest());
    after_ms = after_ms * 10 + 2;
  }
}

// The service ends while it searches.
TEST(ServiceSearchFaults, TheCpuGoesOnWithoutTheService) {
  const Collection input = some_sets(true, 3'000);
  const auto expected = join_weighted(input, Device::cpu);
  int noticed = 0;
  for (const bool hangs : {false, true}) {
    const std::string path = service_path();
    ServiceProcess server(path);
    wait_for_service(path);
    ServiceSession session(path);
    std::atomic<bool> ended{false};
    std::thread killer([&] {
      while (!ended && session.backend.status().value_or(ServiceStatus()).running == 0)
        std::this_thread::yield();
      hangs ? server.hang() : server.kill();
    });
    std::unique_ptr<Notice> notice;
    EXPECT_EQ(join_weighted(input, Device::automatic, nullptr, &notice), expected);
    ended = true;
    killer.join();
    if (notice) {
      ++noticed;
      EXPECT_EQ(notice->cause, Notice::Cause::unavailable);
    }
    EXPECT_EQ(gpu_failure(), "");
    std::filesystem::remove(path);
  }
  EXPECT_GT(noticed, 0);
}

// Invalid results do not get into the session.
TEST(ServiceSearchResults, AreChecked) {
  class Lies final : public WeightedDevice {
   public:
    void find(const WeightedProblem &, const std::function<void(const WeightedFinds &)> &take) override {
      WeightedFinds finds;
      finds.pairs = pairs;
      for (const uint32_t end : ends) {
        finds.end = end;
        take(finds);
      }
    }
    std::vector<WeightedPair> pairs;
    std::vector<uint32_t> ends;
  };
  class Backend final : public CountingBackend {
   public:
    WeightedDevice *weighted() override { return &lies; }
    Lies lies;
  };
  Backend backend;
  RunningService server(16 * mebibyte, &backend);
  ServiceSession session(server.path);
  Collection input;
  input.left = {{{1, 1.0}, {2, 1.0}}, {{1, 1.0}, {3, 1.0}}, {{1, 1.0}, {4, 1.0}}};
  const auto accepts = [&](std::vector<WeightedPair> pairs, std::vector<uint32_t> ends) {
    backend.lies.pairs = std::move(pairs);
    backend.lies.ends = std::move(ends);
    try {
      join_weighted(input, Device::gpu);
    } catch (const Error &error) {
      EXPECT_EQ(error.kind(), ErrorKind::device_unavailable);
      return false;
    }
    return true;
  };
  EXPECT_TRUE(accepts({}, {3}));
  EXPECT_TRUE(accepts({}, {1, 2, 3}));
  EXPECT_TRUE(accepts({{1, 0}, {2, 0}}, {3}));
  EXPECT_FALSE(accepts({}, {}));
  EXPECT_FALSE(accepts({}, {2}));
  EXPECT_FALSE(accepts({}, {4}));
  EXPECT_FALSE(accepts({}, {2, 2, 3}));
  EXPECT_FALSE(accepts({{1, 1}}, {3}));
  EXPECT_FALSE(accepts({{3, 0}}, {3}));
  EXPECT_FALSE(accepts({{2, 0}}, {2, 3}));
  EXPECT_FALSE(accepts(std::vector<WeightedPair>(15, {1, 0}), {3}));
}

// Searches that no session of its own would ask for.
class SenselessSearches : public testing::Test {
 protected:
  template <class T>
  static std::string array(const std::vector<T> &values) {
    return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
  }
  static std::string ends(const std::vector<uint64_t> &values) { return array(values); }
  static std::string weights(const std::vector<double> &values) { return array(values); }
  static std::string ids(const std::vector<uint32_t> &values) { return array(values); }

  static Request begin(RawSession &raw, const SentSearch &search) {
    Request request{Ask::search};
    request.work = 1;
    raw.say(request, bytes_of(search));
    request.ask = Ask::credit;
    for (int i = 0; i < 10; ++i) raw.say(request);
    request.ask = Ask::bytes;
    return request;
  }

  // Returns whether the service does the search.
  bool does(const SentSearch &search, const std::vector<std::string> &arrays) {
    RawSession raw(server_.path);
    const Request request = begin(raw, search);
    if (raw.hear().answer != simjoin::Answer::admitted) return false;
    for (const std::string &array : arrays)
      if (!array.empty()) raw.say(request, array);
    simjoin::Answer last;
    do last = raw.hear().answer;
    while (last == simjoin::Answer::candidates || last == simjoin::Answer::finds);
    return last == simjoin::Answer::done;
  }

  // Two sets of a rank each, joined with themselves.
  static constexpr SentSearch good_ = {0, 1, 1, 2, 4, 0.5, 0, {2, 0}, {2, 0}};
  const std::vector<std::string> arrays_ = {ends({0, 1, 2}), weights({1, 2}), ids({3, 3}), weights({1, 2})};
  WatchedBackend watched_;
  RunningService server_{16 * mebibyte, &watched_};
};

TEST_F(SenselessSearches, HarmNobodyElse) {
  EXPECT_TRUE(does(good_, arrays_));
  const auto changed = [&](auto change) {
    SentSearch search = good_;
    change(search);
    return does(search, arrays_);
  };
  EXPECT_TRUE(changed([](SentSearch &s) { s.of_cosine = 1; }));
  EXPECT_FALSE(changed([](SentSearch &s) { s.of_cosine = 2; }));
  EXPECT_FALSE(changed([](SentSearch &s) { s.threshold = 0; }));
  EXPECT_FALSE(changed([](SentSearch &s) { s.threshold = std::nan(""); }));
  EXPECT_FALSE(changed([](SentSearch &s) { s.self_join = 2; }));
  EXPECT_FALSE(changed([](SentSearch &s) { s.ranks = 3; }));
  EXPECT_FALSE(changed([](SentSearch &s) { s.ranks = uint64_t{1} << 32; }));
  EXPECT_FALSE(changed([](SentSearch &s) { s.largest_set = 0; }));
  EXPECT_FALSE(changed([](SentSearch &s) { s.largest_set = most_weighted_gpu_tokens + 1; }));
  EXPECT_FALSE(changed([](SentSearch &s) { s.wide = 0; }));
  EXPECT_FALSE(changed([](SentSearch &s) { s.wide = 2; }));
  EXPECT_FALSE(changed([](SentSearch &s) { s.sets[0] = 1; }));
  EXPECT_FALSE(changed([](SentSearch &s) { s.sets[0] = UINT32_MAX; }));
  EXPECT_FALSE(changed([](SentSearch &s) { s.tokens[0] = 1; }));
  EXPECT_FALSE(changed([](SentSearch &s) { s.tokens[0] = UINT64_MAX; }));
  const auto with = [&](size_t number, const std::string &value) {
    auto other = arrays_;
    other[number] = value;
    return does(good_, other);
  };
  EXPECT_FALSE(with(0, ends({1, 1, 2})));
  EXPECT_FALSE(with(0, ends({0, 1, 3})));
  EXPECT_FALSE(with(0, ends({0, 3, 2})));
  EXPECT_FALSE(with(0, ends({0, 0, 2})));  // a set with a rank twice
  EXPECT_FALSE(with(1, weights({2, 1})));
  EXPECT_FALSE(with(1, weights({1, std::nan("")})));
  EXPECT_FALSE(with(2, ids({3, 4})));
  EXPECT_FALSE(with(3, weights({1, -2})));
  EXPECT_FALSE(with(3, weights({1, 2}) + "more"));
  // Of two sides, the probes come after the index.
  SentSearch of_two = good_;
  of_two.self_join = 0;
  of_two.sets[1] = of_two.tokens[1] = 1;
  auto both = arrays_;
  for (const std::string &probe : {ends({0, 1}), weights({2}), ids({3}), weights({2})}) both.push_back(probe);
  EXPECT_TRUE(does(of_two, both));
  both.back() = weights({-2});
  EXPECT_FALSE(does(of_two, both));
  EXPECT_TRUE(server_.comes_to_rest());
}

// Sessions that pause while they send lose their place, and wait for another one.
TEST_F(SenselessSearches, WaitForTheirTurnAgainAfterAPause) {
  std::atomic<int> at_once{0}, most{0};
  watched_.before = [&](const StopFlag &) {
    most = std::max<int>(most, ++at_once);
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    --at_once;
  };
  std::string bytes;
  for (const std::string &array : arrays_) bytes += array;
  const std::span<const char> all = bytes;
  std::vector<RawSession> sessions;
  Request request;
  for (int i = 0; i < 5; ++i) request = begin(sessions.emplace_back(server_.path), good_);
  for (RawSession &session : sessions) {
    EXPECT_EQ(session.hear().answer, simjoin::Answer::admitted);
    session.say(request, all.first(8));
  }
  for (RawSession &session : sessions) session.say(request, all.subspan(8));
  for (RawSession &session : sessions) EXPECT_EQ(session.hear().answer, simjoin::Answer::candidates);
  EXPECT_LE(most, Admission::most_running);
}

}  // namespace
}  // namespace simjoin::test
