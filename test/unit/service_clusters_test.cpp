// Clusters of documents by the GPU service: they are those of the CPU, whatever fails.
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/clusters/cluster_device.hpp"
#include "core/service/cluster_calls.hpp"
#include "unit/document_oracle.hpp"
#include "unit/group_oracle.hpp"
#include "unit/process.hpp"
#include "unit/raw_session.hpp"
#include "unit/service_drive.hpp"

namespace simjoin::test {
namespace {

using Clock = std::chrono::steady_clock;

// Calls something before each search, and counts the indexes.
class WatchedClusters final : public CountingBackend {
 public:
  std::unique_ptr<ClusterDevice> make_cluster_device(size_t) override {
    return std::make_unique<Index>(*this);
  }

  std::function<void(const StopFlag &)> before = [](const StopFlag &) {};
  std::atomic<int> made{0}, freed{0};

 private:
  class Index final : public CpuClusters {
   public:
    explicit Index(WatchedClusters &backend) : backend_(backend) { ++backend_.made; }
    ~Index() override { ++backend_.freed; }
    void find(const DocumentVectors &documents, uint32_t least, FoundCluster *found, uint32_t *groups,
              const StopFlag &stop) override {
      backend_.before(stop);
      CpuClusters::find(documents, least, found, groups, stop);
      if (groups != nullptr) group_naively(documents, least, found, groups);
    }

   private:
    WatchedClusters &backend_;
  };
};

// An index of vectors, and documents to search for.
struct SomeClusters {
  explicit SomeClusters(uint32_t clusters, int32_t universe = 500) {
    for (uint32_t i = 0; i < clusters; ++i) {
      index.add_cluster();
      if (i % 10 != 9) index.set_centroid(i, random_vector(random, 30, universe));
    }
    for (int i = 0; i < 100; ++i) {
      const std::vector<TermWeight> vector = random_vector(random, 30, universe);
      terms.insert(terms.end(), vector.begin(), vector.end());
      ends.push_back(terms.size());
      sizes.push_back(static_cast<uint32_t>(vector.size()));
    }
  }
  DocumentVectors documents() const { return {terms, ends, 0, sizes, {}}; }
  std::vector<FoundCluster> found_by(ClusterDevice &device, const StopFlag &stop = StopFlag()) {
    std::vector<FoundCluster> found(sizes.size());
    device.update(index, stop);
    index.mark_copied();
    device.find(documents(), 1, found.data(), nullptr, stop);
    return found;
  }
  std::vector<FoundCluster> expected() {
    ClusterSearch search(memory);
    std::vector<FoundCluster> found;
    for (size_t i = 0; i < sizes.size(); ++i)
      found.push_back(search.find(index, documents()[i], 1, StopFlag()));
    return found;
  }

  RandomSets random{5};
  MemoryCounter memory;
  ClusterIndex index{memory};
  std::vector<TermWeight> terms;
  std::vector<uint64_t> ends;
  std::vector<uint32_t> sizes;
};

class ServiceClustersTest : public testing::Test {
 protected:
  std::unique_ptr<ClusterDevice> device() { return session_.backend.make_cluster_device(0); }
  bool all_are_freed() const {
    for (int i = 0; i < 1000 && backend_.freed < backend_.made; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    return backend_.freed == backend_.made && server_.comes_to_rest();
  }

  WatchedClusters backend_;
  RunningService server_{16 * mebibyte, &backend_};
  ServiceSession session_{server_.path};
};

TEST_F(ServiceClustersTest, AreThoseOfTheCpu) {
  for (const uint32_t batch : {1u, 256u}) {
    for (const double merge : {0.0, 0.45}) {
      const DocumentCase c{2000, 12, 200, 0.6, 8, batch, merge};
      const std::vector<Document> documents = documents_of(c);
      DocumentClusters on_cpu(options_of(c)), served(options_of(c, Device::gpu)),
          chosen(options_of(c, Device::automatic));
      const std::vector<Clustered> expected = cluster(on_cpu, documents, 900);
      EXPECT_EQ(cluster(served, documents, 900), expected) << batch << ", " << merge;
      EXPECT_EQ(cluster(chosen, documents, 900), expected) << batch << ", " << merge;
      EXPECT_EQ(served.take_notice(), nullptr);
    }
  }
  EXPECT_GE(backend_.made, 4);
  EXPECT_GT(session_.backend.status()->calls, 20u);
  EXPECT_TRUE(all_are_freed());
}

// An index of several calls, and then what has changed.
TEST_F(ServiceClustersTest, BringTheIndexAndItsChanges) {
  SomeClusters some(40'000, 20'000);
  some.index.give_lists_away(true);
  const auto served = device();
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(some.found_by(*served), some.expected()) << round;
    if (round == 0) {
      EXPECT_GE(session_.backend.status()->calls, 3u);
    }
    for (int i = 0; i < 20; ++i) change_index(some.random, some.index, 30, 20'000);
  }
  EXPECT_EQ(backend_.made, 1);
}

// Sessions that do not compute now keep nobody from a turn.
TEST_F(ServiceClustersTest, TakeATurnForEachBatch) {
  SomeClusters some(50);
  some.index.give_lists_away(true);
  std::vector<std::unique_ptr<ClusterDevice>> devices;
  for (int i = 0; i < Admission::most_holding; ++i) devices.push_back(device());
  for (const auto &each : devices) EXPECT_EQ(some.found_by(*each), some.expected());
  EXPECT_TRUE(server_.comes_to_rest());
  const auto serves = [&] {
    try {
      return some.found_by(*device()) == some.expected();
    } catch (const Error &error) {
      EXPECT_EQ(error.kind(), ErrorKind::device_unavailable);
      return false;
    }
  };
  EXPECT_FALSE(serves());
  devices.pop_back();
  int tries = 1000;
  while (!serves() && --tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds{5});
  EXPECT_GT(tries, 0);
  devices.clear();
  EXPECT_TRUE(all_are_freed());
}

TEST_F(ServiceClustersTest, GoOnWithoutMemory) {
  const DocumentCase c{3000, 12, 200, 0.6, 8, 256};
  const std::vector<Document> documents = documents_of(c);
  DocumentClusters on_cpu(options_of(c));
  const std::vector<Clustered> expected = cluster(on_cpu, documents);
  backend_.memory = mebibyte / 8;
  DocumentClusters clusters(options_of(c, Device::automatic)), demanding(options_of(c, Device::gpu));
  EXPECT_EQ(cluster(clusters, documents), expected);
  const std::unique_ptr<Notice> notice = clusters.take_notice();
  ASSERT_NE(notice, nullptr);
  EXPECT_EQ(notice->cause, Notice::Cause::too_large);
  EXPECT_THROW(cluster(demanding, documents), Error);
  EXPECT_TRUE(all_are_freed());
}

TEST_F(ServiceClustersTest, EndAtOnceIfTheyAreGivenUp) {
  SomeClusters some(1000);
  for (const int after_ms : {1, 20, 100}) {
    std::atomic<bool> begun{false};
    backend_.before = [&](const StopFlag &stop) {
      begun = true;
      while (!stop.is_set()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
      stop.check();
    };
    StopFlag stop;
    Clock::time_point begin;
    std::thread canceller([&] {
      while (!begun) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds{after_ms});
      begin = Clock::now();
      stop.set();
    });
    auto served = device();
    EXPECT_THROW(some.found_by(*served, stop), Cancelled);
    canceller.join();
    served.reset();
    EXPECT_TRUE(all_are_freed());
    EXPECT_LT(Clock::now() - begin, prompt);
  }
}

// While it computes, and between two batches.
TEST_F(ServiceClustersTest, OfASessionThatIsKilledAreFreed) {
  for (const bool computes : {true, false}) {
    backend_.before = [&](const StopFlag &stop) {
      while (computes && !stop.is_set()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
      stop.check();
    };
    const int made = backend_.made;
    const pid_t session = fork();
    if (session == 0) {
      const auto connection = ServiceConnection::open(server_.path);
      ServiceClusters clusters([&] { return connection; }, 0);
      SomeClusters some(10);
      some.found_by(clusters);
      pause();
      _exit(1);
    }
    while (backend_.made == made) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    EXPECT_LT(backend_.freed, backend_.made);
    kill(session, SIGKILL);
    const Clock::time_point begin = Clock::now();
    waitpid(session, nullptr, 0);
    EXPECT_TRUE(all_are_freed());
    EXPECT_LT(Clock::now() - begin, prompt);
  }
}

TEST(ServiceClusterFaults, TheCpuGoesOnWithoutTheService) {
  const DocumentCase c{40'000, 12, 900, 0.6, 8, 1024};
  const std::vector<Document> documents = documents_of(c);
  DocumentClusters on_cpu(options_of(c));
  const std::vector<Clustered> expected = cluster(on_cpu, documents);
  std::mt19937 random(7);
  int noticed = 0;
  for (int round = 0; round < 5; ++round) {
    const std::string path = service_path();
    auto cores = std::make_unique<ServiceProcess>(path);
    wait_for_service(path);
    ServiceSession session(path);
    ASSERT_TRUE(session.backend.status().has_value());
    std::thread killer([&, wait = random() % 150] {
      std::this_thread::sleep_for(std::chrono::milliseconds{wait});
      round == 4 ? cores->hang() : cores->kill();
    });
    DocumentClusters clusters(options_of(c, Device::automatic, 1));
    EXPECT_EQ(cluster(clusters, documents, 3000), expected);
    killer.join();
    if (const std::unique_ptr<Notice> notice = clusters.take_notice()) {
      ++noticed;
      EXPECT_EQ(notice->cause, Notice::Cause::unavailable);
    }
    EXPECT_EQ(gpu_failure(), "");
    std::filesystem::remove(path);
  }
  EXPECT_GT(noticed, 0);
}

// Results that make no sense do not get into the session.
TEST(ServiceClusterResults, AreChecked) {
  class Lies final : public CpuClusters {
   public:
    Lies(FoundCluster found, uint32_t group) : found_(found), group_(group) {}
    void find(const DocumentVectors &documents, uint32_t, FoundCluster *found, uint32_t *groups,
              const StopFlag &) override {
      std::fill_n(found, documents.size(), found_);
      if (groups != nullptr) std::fill_n(groups, documents.size(), group_);
    }

   private:
    const FoundCluster found_;
    const uint32_t group_;
  };
  class Backend final : public CountingBackend {
   public:
    std::unique_ptr<ClusterDevice> make_cluster_device(size_t) override {
      return std::make_unique<Lies>(found, group);
    }
    FoundCluster found = 0;
    uint32_t group = 0;
  };
  Backend backend;
  RunningService server(16 * mebibyte, &backend);
  ServiceSession session(server.path);
  SomeClusters some(7);
  std::vector<uint32_t> groups(some.sizes.size()), reaches(some.sizes.size(), 1);
  const auto accepts = [&](FoundCluster found, uint32_t group) {
    backend.found = found;
    backend.group = group;
    std::vector<FoundCluster> result(some.sizes.size());
    DocumentVectors documents = some.documents();
    documents.reaches = reaches;
    const auto device = session.backend.make_cluster_device(0);
    device->update(some.index, StopFlag());
    try {
      device->find(documents, 9, result.data(), groups.data(), StopFlag());
    } catch (const Error &) {
      return false;
    }
    return true;
  };
  EXPECT_TRUE(accepts(0, 0));
  EXPECT_TRUE(accepts(found_cluster(9, 6), 0));
  EXPECT_FALSE(accepts(found_cluster(8, 6), 0));
  EXPECT_FALSE(accepts(found_cluster(9, 7), 0));
  EXPECT_FALSE(accepts(0, 1));
  EXPECT_FALSE(accepts(0, UINT32_MAX));
}

// Calls that no session of its own would make. Each follows good ones of the same index.
class SenselessClusters : public testing::Test {
 protected:
  struct Sent {
    std::vector<uint64_t> numbers = {3, 1, 1, 10};  // clusters, least, grouped, terms before
    std::vector<uint32_t> changed = {0, 2}, of_changed = {1, 2};
    std::vector<TermWeight> centroids = {{5, 9}, {5, 9}, {6, 9}}, terms = {{5, 9}, {6, 9}, {6, 9}};
    std::vector<uint64_t> ends = {12, 13};
    std::vector<uint32_t> sizes = {2, 1}, reaches = {1, 1};
    Function function = Function::clusters;
  };

  // Returns what is heard of the calls, the last one of which is this one.
  simjoin::Answer answer(const Sent &sent, bool follows = true) {
    RawSession raw(server_.path);
    if (follows && say(raw, Sent()) != simjoin::Answer::result) return simjoin::Answer::status;
    return say(raw, sent);
  }
  bool does(const Sent &sent) {
    const simjoin::Answer first = answer(sent, false), next = answer(sent);
    EXPECT_EQ(first, next);
    return next == simjoin::Answer::result;
  }
  template <class Change>
  bool does_with(Change &&change) {
    Sent sent;
    change(sent);
    return does(sent);
  }

  static simjoin::Answer say(RawSession &raw, const Sent &sent) {
    SentCall call;
    call.function = sent.function;
    std::copy(sent.numbers.begin(), sent.numbers.end(), call.numbers);
    std::string arrays;
    const auto add = [&](const auto &array) {
      const auto bytes = std::as_bytes(std::span(array));
      call.bytes[call.count++] = bytes.size();
      arrays.append(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    };
    add(sent.changed), add(sent.of_changed), add(sent.centroids), add(sent.terms);
    add(sent.ends), add(sent.sizes), add(sent.reaches);
    Request request{Ask::call};
    request.work = 1;
    raw.say(request, bytes_of(call));
    const simjoin::Answer begun = raw.hear().answer;
    if (begun != simjoin::Answer::admitted) return begun;
    request.ask = Ask::credit;
    for (int i = 0; i < 3; ++i) raw.say(request);
    request.ask = Ask::bytes;
    raw.say(request, arrays);
    simjoin::Answer last;
    do last = raw.hear().answer;
    while (last == simjoin::Answer::array);
    return last;
  }

  WatchedClusters backend_;
  RunningService server_{16 * mebibyte, &backend_};
};

TEST_F(SenselessClusters, HarmNobodyElse) {
  EXPECT_TRUE(does({}));
  const auto number = [&](size_t i, uint64_t value) {
    return does_with([&](Sent &s) { s.numbers[i] = value; });
  };
  EXPECT_TRUE(number(0, 4));
  EXPECT_FALSE(number(0, 2));
  EXPECT_FALSE(number(0, UINT32_MAX));
  EXPECT_FALSE(number(0, uint64_t{1} << 40));
  EXPECT_FALSE(number(0, UINT32_MAX - 1));  // more memory than there is
  EXPECT_FALSE(number(1, 0));
  EXPECT_FALSE(number(1, uint64_t{1} << 32));
  EXPECT_FALSE(number(2, 0));
  EXPECT_FALSE(number(2, 2));
  EXPECT_FALSE(number(3, 9));
  EXPECT_FALSE(number(3, 11));
  EXPECT_FALSE(number(3, 13));
  EXPECT_FALSE(does_with([](Sent &s) { s.changed = {0, 3}; }));
  EXPECT_FALSE(does_with([](Sent &s) { s.changed = {0}; }));
  EXPECT_FALSE(does_with([](Sent &s) { s.of_changed = {1, 1}; }));
  EXPECT_FALSE(does_with([](Sent &s) { s.of_changed = {1, 3}; }));
  EXPECT_FALSE(does_with([](Sent &s) { s.of_changed = {1, UINT32_MAX}; }));
  EXPECT_FALSE(does_with([](Sent &s) { s.centroids[2].term = 5; }));
  EXPECT_FALSE(does_with([](Sent &s) { s.centroids[2].term = UINT32_MAX; }));
  EXPECT_TRUE(does_with([](Sent &s) { s.terms[1].term = 7; }));
  EXPECT_FALSE(does_with([](Sent &s) { s.terms[1].term = 4; }));
  EXPECT_FALSE(does_with([](Sent &s) { s.terms[2].term = UINT32_MAX; }));
  EXPECT_FALSE(does_with([](Sent &s) { s.ends = {13, 12}; }));
  EXPECT_FALSE(does_with([](Sent &s) { s.ends = {12, 14}; }));
  EXPECT_FALSE(does_with([](Sent &s) { s.ends = {UINT64_MAX, 13}; }));
  EXPECT_FALSE(does_with([](Sent &s) { s.ends = {12}; }));
  EXPECT_FALSE(does_with([](Sent &s) { s.sizes = {3, 1}; }));
  EXPECT_FALSE(does_with([](Sent &s) { s.sizes = {2}; }));
  EXPECT_FALSE(does_with([](Sent &s) { s.reaches = {1}; }));
  EXPECT_FALSE(does_with([](Sent &s) { s.reaches = {}; }));
  EXPECT_TRUE(does_with([](Sent &s) { s.sizes = {0, 1}; }));
  EXPECT_TRUE(does_with([](Sent &s) {
    s.terms = {};
    s.ends = {};
    s.sizes = s.reaches = {};
  }));
  // What one function has set up is not for another one.
  Sent other;
  other.function = Function::components;
  EXPECT_EQ(answer(other), simjoin::Answer::error);
  EXPECT_TRUE(does({}));
  EXPECT_TRUE(server_.comes_to_rest());
}

// A call under the number of one that is not done.
TEST_F(SenselessClusters, OneCallAtATime) {
  RawSession raw(server_.path);
  SentCall call;
  call.function = Function::clusters;
  call.count = 7;
  call.bytes[0] = 4;
  Request request{Ask::call};
  request.work = 1;
  raw.say(request, bytes_of(call));
  EXPECT_EQ(raw.hear().answer, simjoin::Answer::admitted);
  raw.say(request, bytes_of(call));
  EXPECT_EQ(raw.hear().answer, simjoin::Answer::error);
  EXPECT_TRUE(server_.comes_to_rest());
}

}  // namespace
}  // namespace simjoin::test
