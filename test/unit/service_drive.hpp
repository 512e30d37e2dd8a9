// A GPU service for tests: its engine is the CPU's.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gpu_service/client/client_backend.hpp"
#include "gpu_service/server/cpu_backend.hpp"
#include "gpu_service/server/gpu_service.hpp"
#include "unit/cpu_time.hpp"
#include "unit/drive.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {

// Counts its engines, and how often it is set up.
class CountingBackend : public CpuBackend {
 public:
  std::unique_ptr<JoinEngine> make_engine(const JoinSpec &spec) override {
    ++engines;
    return CpuBackend::make_engine(spec);
  }
  void set_up() override { ++set_ups; }
  std::atomic<int> engines{0};
  std::atomic<int> set_ups{0};
};

// A path that only this process uses, and only once.
inline std::string service_path() {
  static int number = 0;
  return (std::filesystem::temp_directory_path() /
          ("simjoin-" + std::to_string(getpid()) + "-" + std::to_string(++number)))
      .string();
}

// A service in threads of this process.
class RunningService {
 public:
  explicit RunningService(size_t memory = 16 * mebibyte, GpuBackend *backend = nullptr,
                          std::string at = service_path())
      : path(std::move(at)),
        service(backend != nullptr ? *backend : cores, path, memory,
                [this](const std::string &) { ++lost; }) {
    thread_ = std::thread([this] { service.serve(); });
  }
  ~RunningService() {
    service.stop();
    thread_.join();
    std::filesystem::remove(path);
  }

  // Returns whether the service comes to have no join and no piece in use.
  bool comes_to_rest() const {
    return comes_true([this] {
      const ServiceStatus status = service.status();
      return status.memory_used == 0 && status.running == 0 && status.waiting == 0;
    });
  }

  const std::string path;
  CountingBackend cores;
  std::atomic<int> lost{0};
  GpuService service;

 private:
  std::thread thread_;
};

// A service in a process of its own, which can be killed.
class ServiceProcess {
 public:
  explicit ServiceProcess(const std::string &path, size_t memory = 16 * mebibyte) : pid_(fork()) {
    if (pid_ != 0) return;
    try {
      CpuBackend cores;
      GpuService service(cores, path, memory, [](const std::string &) { _exit(1); });
      service.serve();
    } catch (...) {
    }
    _exit(0);
  }
  ~ServiceProcess() { kill(); }

  // Stops the process, which holds its connections. It may go on for a moment after the signal.
  void hang() {
    ::kill(pid_, SIGSTOP);
    if (!hangs_) waitpid(pid_, nullptr, WUNTRACED);
    hangs_ = true;
  }

  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_;
  bool hangs_ = false;
};

// Returns once a service takes connections at the path.
inline void wait_for_service(const std::string &path) {
  ASSERT_TRUE(comes_true([&] { return ClientConnection::open(path) != nullptr; }));
}

// Lets joins of this process go to the service. Its own backend has no GPU.
class ServiceSession {
 public:
  explicit ServiceSession(const std::string &path) : backend(own, path) {
    own.present = false;
    set_gpu_backend(&own, &backend);
  }
  ~ServiceSession() { set_gpu_backend(nullptr); }
  ServiceSession(const ServiceSession &) = delete;
  ServiceSession &operator=(const ServiceSession &) = delete;

  CountingBackend own;
  ClientBackend backend;
};

template <class Token>
std::vector<Pair> join_on(Device device, JoinSpec spec, const Input<Token> &input, JoinStats *stats = nullptr,
                          std::unique_ptr<Notice> *notice = nullptr) {
  spec.self_join = input.self_join;
  spec.device = device;
  const std::unique_ptr<JoinEngine> engine = make_engine(spec);
  feed(*engine, input);
  std::vector<Pair> pairs = pull(*engine);
  if (stats != nullptr) *stats = engine->stats();
  if (notice != nullptr) *notice = engine->take_notice();
  return pairs;
}

// Sets of several blocks: some of 10 megabytes as int, with few pairs.
inline Input<int32_t> sets_of_several_blocks(bool self_join, int rows = 60'000) {
  RandomSets random(11);
  Input<int32_t> input;
  input.self_join = self_join;
  for (int i = 0; i < rows; ++i) {
    const bool copy = i % 100 == 99;
    input.left.push_back(copy ? random.edited(input.left.back(), 2, 10'000'000)
                              : random.set(random.between(30, 60), 10'000'000));
    if (!self_join && i % 3 == 0) input.right.push_back(input.left.back());
  }
  return input;
}

}  // namespace simjoin::test
