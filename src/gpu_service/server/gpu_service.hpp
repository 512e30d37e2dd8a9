// The service of a server's sessions: one process that has the GPU set up, and joins for all of them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/device/gpu.hpp"
#include "gpu_service/server/admission.hpp"
#include "gpu_service/server/server_memory.hpp"
#include "gpu_service/server/server_work.hpp"
#include "gpu_service/wire/message_socket.hpp"
#include "gpu_service/wire/messages.hpp"

namespace simjoin {

class GpuService final : public ServerHost {
 public:
  // Sets up the GPU and the memory, and takes connections at `path` from then on. `lost` is called, by any
  // thread, if the GPU fails: this process cannot use it any more. Throws Error or std::bad_alloc.
  GpuService(GpuBackend &backend, const std::string &path, size_t memory,
             std::function<void(const std::string &why)> lost);
  // Ends all connections and waits for their threads.
  ~GpuService() override;

  // Serves until stop().
  void serve();
  void stop() noexcept;

  const std::shared_ptr<ServerMemory> &memory() const { return memory_; }
  ServiceStatus status() const;
  // Runs `body` on a thread that the destructor waits for.
  void start(std::function<void()> body);

  GpuBackend &backend() override { return backend_; }
  Admission &admission() override { return admission_; }
  void count_join() override { ++joins_; }
  void lose_device(const std::string &why) override { lost_(why); }

 private:
  static constexpr size_t most_sessions = 4096;

  void warm_up();
  void admit(std::unique_ptr<MessageSocket> connection);
  void forget(const MessageSocket *connection);

  GpuBackend &backend_;
  const std::function<void(const std::string &)> lost_;
  const int64_t started_;
  const std::shared_ptr<ServerMemory> memory_;
  std::unique_ptr<MessageSocket> socket_;
  Admission admission_;
  std::atomic<uint64_t> joins_{0};

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  size_t threads_ = 0;
  bool stopped_ = false;
  std::vector<std::shared_ptr<MessageSocket>> connections_;
};

}  // namespace simjoin
