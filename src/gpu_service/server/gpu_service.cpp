#include "gpu_service/server/gpu_service.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/sets/set_blocks.hpp"
#include "gpu_service/server/server_session.hpp"

namespace simjoin {
namespace {

int64_t microseconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

}  // namespace

GpuService::GpuService(GpuBackend &backend, const std::string &path, size_t memory,
                       std::function<void(const std::string &)> lost)
    : backend_(backend),
      lost_(std::move(lost)),
      started_(microseconds_since_1970()),
      memory_(new ServerMemory(memory), [&backend](ServerMemory *gone) {
        backend.unlock_memory(gone->data());
        delete gone;
      }) {
  std::string reason;
  if (!backend_.available(reason)) throw Error(ErrorKind::device_unavailable, reason);
  backend_.lock_memory(memory_->data(), memory_->bytes());
  warm_up();
  socket_ = MessageSocket::listen_at(path);
}

GpuService::~GpuService() {
  stop();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return threads_ == 0; });
}

// Runs a small join, with which the GPU sets up what every join needs.
void GpuService::warm_up() {
  JoinSpec spec;
  spec.self_join = true;
  spec.device = Device::gpu;
  MemoryCounter memory;
  const std::unique_ptr<JoinEngine> engine = backend_.make_engine(spec);
  constexpr int32_t rows = 4096;
  const uint32_t size = 20;
  std::vector<int32_t> set(size);
  BlockWriter writer(memory);
  for (int32_t row = 0; row < rows; ++row) {
    std::iota(set.begin(), set.end(), row / 4 * static_cast<int32_t>(size));
    SetSlice slice = row_of(std::span<const int32_t>(set), size);
    if (SharedBlock full = writer.append(Side::left, slice)) engine->add_block(std::move(full));
  }
  engine->add_block(writer.take_last(Side::left));
  Batch batch;
  while (engine->step(std::chrono::milliseconds{10}, batch) != StepResult::done) {
  }
}

void GpuService::serve() {
  while (std::unique_ptr<MessageSocket> connection = socket_->accept()) {
    try {
      admit(std::move(connection));
    } catch (const std::exception &) {
      // Too little memory, or no thread: that session does without the service.
    }
  }
}

void GpuService::admit(std::unique_ptr<MessageSocket> connection) {
  std::shared_ptr<MessageSocket> socket = std::move(connection);
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || connections_.size() >= most_sessions) return;
    connections_.push_back(socket);
  }
  try {
    start([this, socket] {
      ServerSession(*this, socket).run();
      forget(socket.get());
    });
  } catch (...) {
    forget(socket.get());
    throw;
  }
}

void GpuService::forget(const MessageSocket *connection) {
  const std::lock_guard lock(mutex_);
  std::erase_if(connections_, [&](const auto &socket) { return socket.get() == connection; });
}

void GpuService::start(std::function<void()> body) {
  {
    const std::lock_guard lock(mutex_);
    ++threads_;
  }
  const auto ended = [this] {
    const std::lock_guard lock(mutex_);
    --threads_;
    changed_.notify_all();
  };
  try {
    start_thread([body = std::move(body), ended]() mutable {
      body();
      body = nullptr;  // what it holds goes before the service
      ended();
    }).detach();
  } catch (...) {
    ended();
    throw;
  }
}

void GpuService::stop() noexcept {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  socket_->end();
  for (const auto &connection : connections_) connection->end();
}

ServiceStatus GpuService::status() const {
  ServiceStatus status;
  status.pid = getpid();
  status.running = static_cast<uint32_t>(admission_.running());
  status.waiting = static_cast<uint32_t>(admission_.waiting());
  status.memory_total = memory_->bytes();
  status.memory_used = memory_->bytes_used();
  status.device_memory = backend_.memory_held();
  status.joins = joins_;
  status.started = started_;
  const std::lock_guard lock(mutex_);
  status.sessions = static_cast<uint32_t>(connections_.size());
  return status;
}

}  // namespace simjoin
