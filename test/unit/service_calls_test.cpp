// Functions of the GPU by the GPU service: their results are those of the CPU, whatever fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <thread>

#include "core/graph/graph_work.hpp"
#include "core/minhash/minhash_bulk.hpp"
#include "core/service/service_call.hpp"
#include "unit/process.hpp"
#include "unit/raw_session.hpp"
#include "unit/service_drive.hpp"
#include "unit/weighted_oracle.hpp"

namespace simjoin::test {
namespace {

using Clock = std::chrono::steady_clock;

// Sets one after the other, some of them empty: about four messages of tokens, and more of values.
template <class Token>
struct SomeSets {
  explicit SomeSets(size_t count) {
    std::mt19937_64 random(3);
    for (size_t set = 0; set < count; ++set) {
      for (uint64_t i = random() % 40; i > 0; --i) {
        if constexpr (std::is_same_v<Token, uint32_t>)
          tokens.push_back(static_cast<uint32_t>(random()));
        else
          tokens.push_back({random() % 50, static_cast<double>(random() % 4)});
      }
      ends.push_back(tokens.size());
    }
  }
  SetArrays<Token> arrays() const { return {tokens, ends}; }

  std::vector<Token> tokens;
  std::vector<size_t> ends;
};

constexpr uint32_t permutations = 50;
constexpr SignatureHeader header_of(SignatureFamily family) {
  return {family, false, full_bits, permutations, 3};
}

// Calls something at the begin of each function, and counts the signers.
class WatchedBackend final : public CountingBackend {
 public:
  SignatureDevice *signatures() override { return &signatures_; }
  GraphDevice *graphs() override { return &graphs_; }

  std::function<void(const StopFlag &)> before = [](const StopFlag &) {};
  std::atomic<int> signers{0}, signers_freed{0};

 private:
  class Signer final : public CpuSigner {
   public:
    Signer(const SignatureHeader &header, WatchedBackend &backend) : CpuSigner(header), backend_(backend) {
      ++backend_.signers;
    }
    ~Signer() override { ++backend_.signers_freed; }
    void sign(const SetArrays<uint32_t> &sets, WorkerPool &pool, uint32_t *values) override {
      backend_.before(pool.stop());
      CpuSigner::sign(sets, pool, values);
    }
    using CpuSigner::sign;

   private:
    WatchedBackend &backend_;
  };

  class Signatures final : public CpuSignatures {
   public:
    explicit Signatures(WatchedBackend &backend) : backend_(backend) {}
    std::unique_ptr<DeviceSigner> make_signer(const SignatureHeader &header, size_t) override {
      return std::make_unique<Signer>(header, backend_);
    }

   private:
    WatchedBackend &backend_;
  };

  class Graphs final : public CpuGraphs {
   public:
    explicit Graphs(WatchedBackend &backend) : backend_(backend) {}
    Components components(const EdgeList &edges, const HostSide &host) override {
      backend_.before(host.pool.stop());
      return CpuGraphs::components(edges, host);
    }

   private:
    WatchedBackend &backend_;
  };

  Signatures signatures_{*this};
  Graphs graphs_{*this};
};

void wait_until_set(const StopFlag &stop) {
  while (!stop.is_set()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  stop.check();
}

class ServiceCalls : public testing::Test {
 protected:
  // A graph of some messages, with or without weights, loops, repeated edges and lone nodes.
  EdgeList edges(bool weighted, int64_t count = 30'000) {
    EdgeList list(memory_);
    std::mt19937_64 random(5);
    for (int64_t i = 0; i < count; ++i) {
      const auto from = static_cast<int64_t>(random() % 20'000) - 500;
      const auto to = static_cast<int64_t>(random() % 20'000) - 500;
      if (weighted)
        list.add_edge(from, to, static_cast<double>(random() % 5));
      else
        list.add_edge(from, to);
    }
    list.add_node(INT64_MAX);
    return list;
  }

  template <class T>
  static std::vector<T> values(const Buffer<T> &buffer) {
    return {buffer.begin(), buffer.end()};
  }

  HostSide host() { return {pool_, memory_}; }
  GraphDevice &graphs() { return *session_.backend.graphs(); }
  std::vector<uint32_t> sign(DeviceSigner &signer, size_t sets) {
    const SomeSets<uint32_t> some(sets);
    std::vector<uint32_t> signed_values(sets * permutations);
    signer.sign(some.arrays(), pool_, signed_values.data());
    return signed_values;
  }

  WatchedBackend watched_;
  RunningService server_{16 * mebibyte, &watched_};
  ServiceSession session_{server_.path};
  StopFlag stop_;
  WorkerPool pool_{2, stop_};
  MemoryCounter memory_;
  CpuGraphs cpu_;
};

TEST_F(ServiceCalls, SignSets) {
  const auto header = header_of(SignatureFamily::minhash), weighted = header_of(SignatureFamily::weighted);
  const auto signer = session_.backend.signatures()->make_signer(header, 0);
  const auto of_weighted = session_.backend.signatures()->make_signer(weighted, 0);
  CpuSigner by_cpu(header), weighted_by_cpu(weighted);
  for (const size_t count : {0, 1, 33, 3'000}) {
    EXPECT_EQ(sign(*signer, count), sign(by_cpu, count)) << count;

    const SomeSets<WeightedToken> some(count);
    std::vector<uint32_t> found(count * permutations), expected(found.size());
    of_weighted->sign(some.arrays(), pool_, found.data());
    weighted_by_cpu.sign(some.arrays(), pool_, expected.data());
    EXPECT_EQ(found, expected) << count;

    const SomeSets<uint32_t> sets(count);
    std::vector<uint64_t> hashes(count * 12), expected_hashes(hashes.size());
    signer->hash_bands(sets.arrays(), {12, 4}, pool_, hashes.data());
    by_cpu.hash_bands(sets.arrays(), {12, 4}, pool_, expected_hashes.data());
    EXPECT_EQ(hashes, expected_hashes) << count;
  }
  EXPECT_EQ(signer->device(), "cpu (service)");
  EXPECT_EQ(signer->memory_peak(), by_cpu.memory_peak());
  EXPECT_EQ(session_.backend.status()->calls, 9u);
  EXPECT_EQ(session_.backend.status()->joins, 0u);
  EXPECT_TRUE(server_.comes_to_rest());
}

TEST_F(ServiceCalls, ComputeOverGraphs) {
  for (const bool weighted : {false, true}) {
    for (const int64_t count : {0, 1, 30'000}) {
      const EdgeList list = edges(weighted, count);
      const Components found = graphs().components(list, host()), expected = cpu_.components(list, host());
      EXPECT_EQ(values(found.nodes), values(expected.nodes));
      EXPECT_EQ(values(found.components), values(expected.components));
      for (const EdgeUse use : {EdgeUse::directed, EdgeUse::undirected, EdgeUse::simple}) {
        const Ranks power = graphs().pagerank_power(list, use, 0.85, 1e-6, host());
        const Ranks power_by_cpu = cpu_.pagerank_power(list, use, 0.85, 1e-6, host());
        EXPECT_EQ(values(power.nodes), values(power_by_cpu.nodes));
        EXPECT_EQ(values(power.ranks), values(power_by_cpu.ranks));
        const Ranks walk = graphs().pagerank_random_walk(list, use, 0.85, 2, 42, host());
        EXPECT_EQ(values(walk.ranks),
                  values(cpu_.pagerank_random_walk(list, use, 0.85, 2, 42, host()).ranks));
      }
      EdgeList used_up = edges(weighted, count);
      const Graph graph = build_graph(used_up, EdgeUse::simple, pool_, memory_);
      const Spectrum spectrum = graphs().leading_eigenvectors(graph, host());
      const Spectrum by_cpu = cpu_.leading_eigenvectors(graph, host());
      EXPECT_EQ(values(spectrum.first), values(by_cpu.first));
      EXPECT_EQ(values(spectrum.second), values(by_cpu.second));
      EXPECT_EQ(spectrum.radius_bound, by_cpu.radius_bound);
    }
  }
  EXPECT_EQ(values(graphs().components(EdgeList(memory_), host()).nodes), std::vector<int64_t>{});
  EXPECT_TRUE(server_.comes_to_rest());
}

TEST_F(ServiceCalls, HashVectors) {
  const FlyShape shape{40, 3000, 150, 4, 1};
  std::vector<uint16_t> levels(2'000 * shape.dimension);
  std::mt19937 random(4);
  for (uint16_t &level : levels) level = static_cast<uint16_t>(1 + random() % fly_most_level);
  const auto work = session_.backend.flyhash()->open(shape, 0);
  for (const size_t vectors : {0, 1, 33, 2'000}) {
    std::vector<uint32_t> found(vectors * shape.winners), expected(found.size());
    work->hash(levels.data(), vectors, found.data(), pool_);
    CpuFlyHash::Work(shape).hash(levels.data(), vectors, expected.data(), pool_);
    EXPECT_EQ(found, expected) << vectors;
  }
}

TEST_F(ServiceCalls, SearchWeightedSets) {
  RandomWeights random(21);
  const auto join = [](JoinSpec spec, const Collection &input, Device device, JoinStats *stats = nullptr) {
    spec.device = device;
    const auto weighted = make_weighted_join(spec);
    feed_sets(*weighted, input);
    const auto pairs = pull_similarities(*weighted);
    if (stats != nullptr) *stats = weighted->stats();
    return pairs;
  };
  for (const bool self_join : {true, false}) {
    for (const Measure measure : {Measure::jaccard, Measure::cosine}) {
      for (const Weights weights : all_kinds) {
        const Collection input = random_collection(random, weights, self_join, 200, measure);
        JoinSpec spec;
        spec.measure = measure;
        spec.threshold = 0.4;
        spec.self_join = self_join;
        spec.threads = 2;
        JoinStats stats;
        EXPECT_EQ(join(spec, input, Device::gpu, &stats), join(spec, input, Device::cpu));
        EXPECT_EQ(stats.device, "cpu (service)");
      }
    }
  }
  EXPECT_GT(session_.backend.status()->calls, 3u);
}

// What a signer has set up is for the next call, of any session, and for nobody a second later.
TEST_F(ServiceCalls, KeepASignerForAMoment) {
  const auto other = ServiceConnection::open(server_.path);
  ServiceSignatures of_other([&] { return other; });
  const auto header = header_of(SignatureFamily::minhash);
  for (int i = 0; i < 3; ++i) {
    sign(*session_.backend.signatures()->make_signer(header, 0), 10);
    sign(*of_other.make_signer(header, 0), 10);
  }
  EXPECT_EQ(watched_.signers, 1);
  for (uint64_t seed = 4; seed < 8; ++seed) {
    SignatureHeader another = header;
    another.seed = seed;
    sign(*of_other.make_signer(another, 0), 10);
  }
  EXPECT_EQ(watched_.signers, 5);
  EXPECT_GE(watched_.signers_freed, 3);  // two are kept
  for (int i = 0; i < 1000 && watched_.signers_freed < 5; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  EXPECT_EQ(watched_.signers_freed, 5);
}

TEST_F(ServiceCalls, WaitForTheirTurn) {
  std::atomic<bool> go{false};
  std::atomic<int> at_once{0}, most{0};
  watched_.before = [&](const StopFlag &stop) {
    most = std::max<int>(most, ++at_once);
    while (!go && !stop.is_set()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    --at_once;
  };
  std::vector<std::thread> sessions;
  std::atomic<int> right{0};
  const auto header = header_of(SignatureFamily::minhash);
  CpuSigner by_cpu(header);
  const auto expected = sign(by_cpu, 500);
  for (int i = 0; i < 6; ++i) {
    sessions.emplace_back([&] {
      const auto connection = ServiceConnection::open(server_.path);
      ServiceSignatures signatures([&] { return connection; });
      const StopFlag never;
      WorkerPool pool(1, never);
      const SomeSets<uint32_t> some(500);
      std::vector<uint32_t> found(500 * permutations);
      signatures.make_signer(header, 0)->sign(some.arrays(), pool, found.data());
      right += found == expected;
    });
  }
  while (server_.service.status().waiting < 4 || at_once < Admission::most_running) std::this_thread::yield();
  EXPECT_EQ(server_.service.status().running, 2u);
  go = true;
  for (std::thread &session : sessions) session.join();
  EXPECT_EQ(right, 6);
  EXPECT_EQ(most, Admission::most_running);
  EXPECT_TRUE(server_.comes_to_rest());
}

// Sessions that pause while they send lose their place, and wait for another one.
TEST_F(ServiceCalls, WaitForTheirTurnAgainAfterAPause) {
  constexpr int callers = 5;
  std::atomic<int> at_once{0}, most{0};
  watched_.before = [&](const StopFlag &) {
    most = std::max<int>(most, ++at_once);
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    --at_once;
  };
  const int64_t edge[2] = {1, 2};
  const std::span<const char> bytes = bytes_of(edge);
  std::vector<RawSession> sessions;
  for (int i = 0; i < callers; ++i) {
    RawSession &session = sessions.emplace_back(server_.path);
    Request request{Ask::call};
    request.work = 1;
    SentCall call;
    call.function = Function::components;
    call.count = 3;
    call.bytes[0] = bytes.size();
    session.say(request, bytes_of(call));
    request.ask = Ask::credit;
    for (int credit = 0; credit < 4; ++credit) session.say(request);
  }
  Request request{Ask::bytes};
  request.work = 1;
  for (RawSession &session : sessions) {
    EXPECT_EQ(session.hear().answer, simjoin::Answer::admitted);
    session.say(request, bytes.first(8));
  }
  for (RawSession &session : sessions) session.say(request, bytes.subspan(8));
  for (RawSession &session : sessions) EXPECT_EQ(session.hear().answer, simjoin::Answer::array);
  EXPECT_LE(most, Admission::most_running);
}

// Wherever a call is when it is given up, nothing of it is left.
TEST_F(ServiceCalls, EndAtOnceIfTheyAreGivenUp) {
  const EdgeList list = edges(false, 1'000'000);
  for (const bool computes : {true, false}) {
    for (const int after_ms : {0, 1, 3, 10, 30, 100}) {
      if (computes) watched_.before = wait_until_set;
      StopFlag stop;
      WorkerPool pool(1, stop);
      std::atomic<bool> is_set{false};
      Clock::time_point begin;
      std::thread canceller([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds{after_ms});
        begin = Clock::now();
        stop.set();
      });
      try {
        graphs().components(list, {pool, memory_});
        EXPECT_FALSE(computes);
        canceller.join();
      } catch (const Cancelled &) {
        canceller.join();
        EXPECT_LT(Clock::now() - begin, prompt);
      }
      EXPECT_TRUE(server_.comes_to_rest());
    }
    watched_.before = [](const StopFlag &) {};
  }
  EXPECT_EQ(values(graphs().components(edges(false, 9), host()).nodes).size(), 19u);
}

TEST_F(ServiceCalls, OfASessionThatIsKilledEnd) {
  watched_.before = wait_until_set;
  for (const int after_ms : {0, 2, 20, 60}) {
    const pid_t session = fork();
    if (session == 0) {
      const auto connection = ServiceConnection::open(server_.path);
      MemoryCounter memory;
      EdgeList list(memory);
      for (int64_t i = 0; i < 1'000'000; ++i) list.add_edge(i, i / 2);
      const StopFlag never;
      WorkerPool pool(1, never);
      ServiceGraphs([&] { return connection; }).components(list, {pool, memory});
      _exit(1);
    }
    while (server_.service.status().running == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds{after_ms});
    kill(session, SIGKILL);
    waitpid(session, nullptr, 0);
    EXPECT_TRUE(server_.comes_to_rest());
  }
}

TEST_F(ServiceCalls, TellOfErrors) {
  const EdgeList list = edges(false);
  for (const ErrorKind kind :
       {ErrorKind::device_failure, ErrorKind::limit_exceeded, ErrorKind::invalid_argument}) {
    watched_.before = [&](const StopFlag &) { throw Error(kind, "injected", "none"); };
    try {
      graphs().components(list, host());
      ADD_FAILURE();
    } catch (const Error &error) {
      EXPECT_EQ(error.kind(), kind == ErrorKind::device_failure ? ErrorKind::device_unavailable : kind);
      EXPECT_STREQ(error.what(), "injected");
    }
  }
  EXPECT_EQ(server_.lost, 1);
  watched_.before = [](const StopFlag &) { throw std::bad_alloc(); };
  EXPECT_THROW(graphs().components(list, host()), Error);
  watched_.before = [](const StopFlag &) {};
  EXPECT_EQ(values(graphs().components(list, host()).nodes), values(cpu_.components(list, host()).nodes));
  EXPECT_TRUE(server_.comes_to_rest());
}

// Results that make no sense do not get into the session.
TEST(ServiceCallResults, AreChecked) {
  class Lies final : public CpuGraphs {
   public:
    Components components(const EdgeList &, const HostSide &host) override {
      Components found(host.memory);
      for (const int64_t node : nodes) found.nodes.push_back(node);
      found.components.resize(values);
      return found;
    }
    Spectrum leading_eigenvectors(const Graph &, const HostSide &host) override {
      Spectrum found(host.memory);
      found.first.resize(values, 0.0);
      found.second.resize(3, 0.0);
      return found;
    }
    std::vector<int64_t> nodes;
    size_t values = 0;
  };
  class Backend final : public CountingBackend {
   public:
    GraphDevice *graphs() override { return &lies; }
    Lies lies;
  };
  Backend backend;
  RunningService server(16 * mebibyte, &backend);
  ServiceSession session(server.path);
  const StopFlag never;
  WorkerPool pool(1, never);
  MemoryCounter memory;
  EdgeList list(memory);
  for (int64_t i = 0; i < 3; ++i) list.add_edge(i, (i + 1) % 3);
  const auto components = [&](std::vector<int64_t> nodes, size_t count) {
    backend.lies.nodes = std::move(nodes);
    backend.lies.values = count;
    return session.backend.graphs()->components(list, {pool, memory}).nodes.size();
  };
  EXPECT_EQ(components({0, 1, 2}, 3), 3u);
  EXPECT_THROW(components({0, 1, 2, 3}, 4), Error);
  EXPECT_THROW(components({0, 1, 2}, 2), Error);
  EXPECT_THROW(components({0, 2, 1}, 3), Error);
  const Graph graph = build_graph(list, EdgeUse::simple, pool, memory);
  const auto spectrum = [&](size_t count) {
    backend.lies.values = count;
    return session.backend.graphs()->leading_eigenvectors(graph, {pool, memory}).first.size();
  };
  EXPECT_EQ(spectrum(3), 3u);
  EXPECT_THROW(spectrum(2), Error);
  EXPECT_THROW(spectrum(4), Error);
}

// A computation goes on without the service, whenever it ends.
TEST(ServiceCallFaults, WorkGoesOnWithoutTheService) {
  std::mt19937 random(7);
  int noticed = 0;
  const auto sign = [](Device device, std::unique_ptr<Notice> *notice) {
    BulkSpec spec;
    spec.device = device;
    spec.permutations = 256;
    spec.threads = 1;
    BulkSigner signer(spec);
    std::vector<std::vector<uint8_t>> signatures;
    std::vector<uint32_t> set(500);
    for (uint32_t round = 0; round < 4; ++round) {
      for (uint32_t i = 0; i < 2'000; ++i) {
        for (uint32_t j = 0; j < set.size(); ++j) set[j] = (round * 2'000 + i) * 77 + j * j;
        signer.add(set);
      }
      signer.begin();
      while (!signer.step(std::chrono::milliseconds{5})) {
      }
      for (size_t i = 0; i < signer.sets(); ++i) {
        signatures.emplace_back(signer.signature_bytes(i));
        signer.write(i, signatures.back().data());
      }
    }
    if (notice != nullptr) *notice = signer.take_notice();
    return signatures;
  };
  const auto expected = sign(Device::cpu, nullptr);
  for (int round = 0; round < 8; ++round) {
    const std::string path = service_path();
    ServiceProcess server(path);
    wait_for_service(path);
    ServiceSession session(path);
    ASSERT_TRUE(session.backend.status().has_value());
    const bool hangs = round % 4 == 3;
    std::thread killer([&, wait = random() % 150] {
      std::this_thread::sleep_for(std::chrono::milliseconds{wait});
      hangs ? server.hang() : server.kill();
    });
    std::unique_ptr<Notice> notice;
    EXPECT_EQ(sign(Device::automatic, &notice), expected);
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

// Calls that no session of its own would make.
class SenselessCalls : public testing::Test {
 protected:
  template <class T>
  static std::string array(const std::vector<T> &values) {
    return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
  }
  static std::string ends(const std::vector<size_t> &values) { return array(values); }
  static std::string nodes(const std::vector<int64_t> &values) { return array(values); }
  static std::string weights(const std::vector<double> &values) { return array(values); }
  static std::string ids(const std::vector<uint32_t> &values) { return array(values); }
  static uint64_t bits(double value) { return std::bit_cast<uint64_t>(value); }

  // Returns whether the service does the call.
  bool does(Function function, const std::vector<uint64_t> &numbers, const std::vector<std::string> &arrays) {
    SentCall call;
    call.function = function;
    std::copy(numbers.begin(), numbers.end(), call.numbers);
    for (const std::string &array : arrays) {
      if (call.count < most_call_arrays) call.bytes[call.count] = array.size();
      ++call.count;
    }
    return does(call, arrays);
  }
  bool does(const SentCall &call, const std::vector<std::string> &arrays) {
    RawSession raw(server_.path);
    Request request{Ask::call};
    request.work = 1;
    raw.say(request, bytes_of(call));
    if (raw.hear().answer != simjoin::Answer::admitted) return false;
    request.ask = Ask::credit;
    for (int i = 0; i < 10; ++i) raw.say(request);
    request.ask = Ask::bytes;
    for (const std::string &array : arrays)
      if (!array.empty()) raw.say(request, array);
    simjoin::Answer last;
    do last = raw.hear().answer;
    while (last == simjoin::Answer::array);
    return last == simjoin::Answer::result;
  }

  RunningService server_;
};

TEST_F(SenselessCalls, OfSignatures) {
  const auto sign = [&](uint64_t family, uint64_t permutations, const std::string &ends,
                        const std::string &tokens) {
    return does(Function::sign, {family, permutations, 1}, {ends, tokens});
  };
  const std::string two = ids({7, 8});
  EXPECT_TRUE(sign(1, 4, ends({1, 2}), two));
  EXPECT_FALSE(sign(0, 4, ends({1, 2}), two));
  EXPECT_FALSE(sign(3, 4, ends({1, 2}), two));
  EXPECT_FALSE(sign(1, 0, ends({1, 2}), two));
  EXPECT_FALSE(sign(1, 65536, ends({1, 2}), two));
  EXPECT_FALSE(sign(1, 4, ends({2, 1}), two));
  EXPECT_FALSE(sign(1, 4, ends({1, 3}), two));
  EXPECT_FALSE(sign(1, 4, ends({1}), two));
  EXPECT_FALSE(sign(1, 4, ends({}), two));
  EXPECT_FALSE(sign(1, 4, ends({1, 2}) + "x", two));
  EXPECT_FALSE(sign(1, 4, ends({1, 2}), two + "xxx"));
  EXPECT_FALSE(does(Function::sign, {1, 4, 1}, {ends({1, 2})}));

  const auto weighted = [](double weight) { return array<WeightedToken>({{7, 1}, {8, weight}}); };
  EXPECT_TRUE(sign(2, 4, ends({1, 2}), weighted(0)));
  EXPECT_FALSE(sign(2, 4, ends({1, 2}), weighted(-1)));
  EXPECT_FALSE(sign(2, 4, ends({1, 2}), weighted(std::nan(""))));
  EXPECT_FALSE(sign(2, 4, ends({1, 2}), weighted(INFINITY)));

  const auto bands = [&](uint64_t family, uint64_t bands, uint64_t rows) {
    return does(Function::hash_bands, {family, 4, 1, bands, rows}, {ends({1, 2}), two});
  };
  EXPECT_TRUE(bands(1, 2, 2));
  EXPECT_FALSE(bands(2, 2, 2));
  EXPECT_FALSE(bands(1, 0, 2));
  EXPECT_FALSE(bands(1, 2, 0));
  EXPECT_FALSE(bands(1, 2, 3));
  EXPECT_FALSE(bands(1, uint64_t{1} << 33, 1));
}

TEST_F(SenselessCalls, OfFlyHash) {
  const auto hash = [&](const std::vector<uint64_t> &shape, size_t levels, uint16_t level = 9) {
    return does(Function::flyhash, shape, {array(std::vector<uint16_t>(levels, level))});
  };
  EXPECT_TRUE(hash({8, 100, 5, 2}, 16));
  EXPECT_FALSE(hash({8, 100, 5, 2}, 15));
  EXPECT_FALSE(hash({8, 100, 5, 2}, 0));
  EXPECT_FALSE(hash({8, 100, 5, 2}, 16, fly_most_level + 1));
  EXPECT_FALSE(hash({0, 100, 5, 2}, 16));
  EXPECT_FALSE(hash({8, 0, 5, 2}, 16));
  EXPECT_FALSE(hash({8, 100, 101, 2}, 16));
  EXPECT_FALSE(hash({8, 100, 5, 9}, 16));
  EXPECT_FALSE(hash({8, max_fly_hash_length + 1, 5, 2}, 16));
  EXPECT_FALSE(hash({65535, max_fly_hash_length, 5, 65535}, 65535));
}

TEST_F(SenselessCalls, OfGraphs) {
  EXPECT_TRUE(does(Function::components, {}, {nodes({1, 2, 2, 3}), nodes({4}), weights({})}));
  EXPECT_FALSE(does(Function::components, {}, {nodes({1, 2, 2, 3}), nodes({4})}));
  EXPECT_FALSE(does(Function::components, {}, {nodes({1, 2, 2}), nodes({4}), weights({})}));
  EXPECT_FALSE(does(Function::components, {}, {nodes({1, 2, 2, 3}), nodes({4}), weights({1})}));

  const auto pagerank = [&](uint64_t use, double damping, double tolerance, uint64_t coupons, double weight) {
    return does(Function::pagerank, {use, bits(damping), bits(tolerance), coupons},
                {nodes({1, 2}), nodes({}), weights({weight})});
  };
  EXPECT_TRUE(pagerank(0, 0.5, 0.1, 0, 1));
  EXPECT_TRUE(pagerank(0, 0.5, 0.1, 1, 1));
  EXPECT_FALSE(pagerank(3, 0.5, 0.1, 0, 1));
  EXPECT_FALSE(pagerank(0, 1, 0.1, 0, 1));
  EXPECT_FALSE(pagerank(0, std::nan(""), 0.1, 0, 1));
  EXPECT_FALSE(pagerank(0, 0.5, 0, 0, 1));
  EXPECT_FALSE(pagerank(0, 0.5, 0.1, uint64_t{1} << 32, 1));
  EXPECT_FALSE(pagerank(0, 0.5, 0.1, 0, -1));

  const auto spectrum = [&](const std::vector<size_t> &offsets, const std::vector<uint32_t> &targets,
                            const std::vector<double> &of_edges) {
    return does(Function::spectrum, {of_edges.empty() ? 0u : 1u},
                {ends(offsets), ids(targets), weights(of_edges)});
  };
  EXPECT_TRUE(spectrum({0, 1, 2}, {1, 0}, {}));
  EXPECT_TRUE(spectrum({0, 1, 2}, {1, 0}, {3, 3}));
  EXPECT_FALSE(spectrum({0, 1, 2}, {1, 0}, {3}));
  EXPECT_FALSE(spectrum({0, 1, 2}, {1, 0}, {3, INFINITY}));
  EXPECT_FALSE(spectrum({0, 1, 2}, {1, 2}, {}));
  EXPECT_FALSE(spectrum({0, 1, 3}, {1, 0}, {}));
  EXPECT_FALSE(spectrum({0, 3, 2}, {1, 0}, {}));
  EXPECT_FALSE(spectrum({1, 1, 2}, {1, 0}, {}));
  EXPECT_FALSE(spectrum({0}, {}, {}));
  EXPECT_FALSE(spectrum({}, {}, {}));
}

TEST_F(SenselessCalls, OfWeightedJoins) {
  // Two sets of a rank each, joined with themselves.
  const std::vector<uint64_t> numbers = {0, bits(0.5), 1, 4, 2, 1};
  const std::vector<std::string> arrays = {ends({0, 1, 2}), weights({1, 2}), ids({3, 3}), weights({1, 2})};
  EXPECT_TRUE(does(Function::weighted, numbers, arrays));
  const auto changed = [&](size_t number, uint64_t value) {
    auto other = numbers;
    other[number] = value;
    return does(Function::weighted, other, arrays);
  };
  EXPECT_TRUE(changed(0, 1));
  EXPECT_FALSE(changed(0, 2));
  EXPECT_FALSE(changed(1, bits(0)));
  EXPECT_FALSE(changed(1, bits(std::nan(""))));
  EXPECT_FALSE(changed(2, 0));  // without probes
  EXPECT_FALSE(changed(2, 2));
  EXPECT_FALSE(changed(3, 3));
  EXPECT_FALSE(changed(3, uint64_t{1} << 32));
  EXPECT_FALSE(changed(4, 0));
  EXPECT_FALSE(changed(4, most_weighted_gpu_tokens + 1));
  EXPECT_FALSE(changed(5, 0));
  const auto with = [&](size_t number, const std::string &value) {
    auto other = arrays;
    other[number] = value;
    return does(Function::weighted, numbers, other);
  };
  EXPECT_FALSE(with(0, ends({})));
  EXPECT_FALSE(with(0, ends({1, 1, 2})));
  EXPECT_FALSE(with(0, ends({0, 1, 3})));
  EXPECT_FALSE(with(0, ends({0, 3, 2})));
  EXPECT_FALSE(with(0, ends({0, 0, 2})));  // a set with a rank twice
  EXPECT_FALSE(with(1, weights({2, 1})));
  EXPECT_FALSE(with(1, weights({1, std::nan("")})));
  EXPECT_FALSE(with(2, ids({3, 4})));
  EXPECT_FALSE(with(3, weights({1})));
  EXPECT_FALSE(with(3, weights({1, -2})));
}

TEST_F(SenselessCalls, OfAnyFunction) {
  const std::vector<std::string> arrays = {nodes({1, 2}), nodes({}), weights({})};
  EXPECT_TRUE(does(Function::components, {}, arrays));
  EXPECT_FALSE(does(static_cast<Function>(99), {}, arrays));
  EXPECT_FALSE(does(Function::components, {}, {arrays[0], arrays[1], arrays[2], "x"}));
  SentCall call;
  call.function = Function::components;
  call.count = 3;
  call.bytes[0] = 16;
  EXPECT_TRUE(does(call, arrays));
  EXPECT_FALSE(
      does(call, {nodes({1, 2}) + "more"}));  // in one message: a call begins when its bytes are there
  call.bytes[0] = UINT64_MAX;
  EXPECT_FALSE(does(call, arrays));
  call.count = most_call_arrays + 1;
  EXPECT_FALSE(does(call, arrays));
  EXPECT_TRUE(server_.comes_to_rest());
}

}  // namespace
}  // namespace simjoin::test
