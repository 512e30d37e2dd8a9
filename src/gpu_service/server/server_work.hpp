// What the GPU service does for a session under a number of its connection: a join of sets, or the search of
// one of sets with weights.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "core/base/error.hpp"
#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/device/gpu.hpp"
#include "gpu_service/server/admission.hpp"
#include "gpu_service/wire/message_socket.hpp"
#include "gpu_service/wire/messages.hpp"

namespace simjoin {

// What all work of the service shares.
class ServerHost {
 public:
  virtual ~ServerHost() = default;
  virtual GpuBackend &backend() = 0;
  virtual Admission &admission() = 0;
  virtual void count_join() = 0;
  // The device is lost for this process.
  virtual void lose_device(const std::string &why) = 0;
};

[[noreturn]] inline void throw_senseless() {
  throw Error(ErrorKind::internal, "a message to the GPU service makes no sense");
}

// run() has a thread of its own. The session's thread calls all else. No number of the session is trusted: an
// Error says that a message makes no sense.
class ServerWork {
 public:
  virtual ~ServerWork() = default;
  ServerWork(const ServerWork &) = delete;
  ServerWork &operator=(const ServerWork &) = delete;

  // Does the work, and keeps what the session may ask for until end() is called.
  void run();
  virtual void add_bytes(std::span<const char> bytes) = 0;
  void add_credit();
  void end();

 protected:
  // A session that is waited for longer lets others have its place.
  static constexpr std::chrono::milliseconds patience_with_session{200};

  ServerWork(ServerHost &host, std::shared_ptr<MessageSocket> socket, uint32_t number)
      : host_(host), socket_(std::move(socket)), number_(number) {}

  // Does the work, and throws Cancelled after end().
  virtual void work(Admission::Turn &turn) = 0;
  // Frees what the work has: it has failed, or end() was called.
  virtual void release() noexcept = 0;

  bool has_credit() const;
  // Sends a message for which the session has to give a credit.
  void send_for_credit(Reply reply, std::span<const char> payload, Admission::Turn &turn);
  void send(Reply reply, std::span<const char> payload, Admission::Turn *turn = nullptr);
  // Waits until the session has done what any() asks for.
  template <class Any>
  void wait_for_session(std::unique_lock<std::mutex> &lock, Admission::Turn &turn, Any &&any,
                        bool comes_back = true) {
    const auto ends = [&] { return stop_.is_set() || any(); };
    if (!changed_.wait_for(lock, patience_with_session, ends)) {
      turn.leave();
      changed_.wait(lock, ends);
      if (comes_back) turn.come_back();
    }
    stop_.check();
  }

  ServerHost &host_;
  const std::shared_ptr<MessageSocket> socket_;
  const uint32_t number_;
  StopFlag stop_;
  MemoryCounter memory_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;

 private:
  void fail(ErrorKind kind, const std::string &message, const std::string &hint) noexcept;

  uint64_t credits_ = 0;  // guarded by mutex_
};

}  // namespace simjoin
