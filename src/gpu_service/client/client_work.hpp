// What a session has the GPU service do under a number of its connection: a join of sets, or the search of
// one of sets with weights.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "gpu_service/client/client_connection.hpp"

namespace simjoin {

// If the GPU fails or the service ends, that is Error device_unavailable: a new service starts.
class ClientWork {
 public:
  using Clock = std::chrono::steady_clock;
  using Received = ClientConnection::Received;
  // Messages that are on their way at most: the service goes on while the session takes one, and the socket
  // has room for them.
  static constexpr int most_credits = 2;

  explicit ClientWork(std::shared_ptr<ClientConnection> connection);
  ~ClientWork();
  ClientWork(const ClientWork &) = delete;
  ClientWork &operator=(const ClientWork &) = delete;

  ClientConnection &connection() const { return *connection_; }
  Request request(Ask ask) const;
  void post(Ask ask, std::span<const char> payload = {}) { connection_->post(request(ask), payload); }
  // Sends an array as bytes from `sent` on, as far as there is room. Returns whether all has gone.
  bool send_bytes(const char *data, size_t bytes, size_t &sent);
  // Returns the next reply, none if there is none yet. Throws the Error of the service.
  std::optional<Received> next();
  // Waits for news, or for room if `for_room`, and returns false once a time is over. Throws if the service
  // has ended or does not answer any more. The flag is as for find_out_whether_alive().
  bool wait(Clock::time_point until, bool for_room, const StopFlag *stop = nullptr);
  [[noreturn]] void throw_ended() const;

 private:
  const std::shared_ptr<ClientConnection> connection_;
  const uint32_t number_;
  Clock::time_point heard_ = Clock::now();  // when the service last said something
};

}  // namespace simjoin
