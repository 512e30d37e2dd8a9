// A session that may say anything to the GPU service.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unit/process.hpp"
#include "unit/service_drive.hpp"

namespace simjoin::test {

// A connection without a session's care: it says anything.
class RawSession {
 public:
  explicit RawSession(const std::string &path) : socket_(MessageSocket::connect_to(path)) {}

  void say(const Request &request, std::span<const char> payload = {}) {
    socket_->send({reinterpret_cast<const char *>(&request), sizeof request}, payload, true);
  }
  void say_bytes(std::span<const char> bytes) { socket_->send(bytes, {}, true); }
  // Returns the next reply, or that of an error if none comes.
  Reply hear() {
    std::vector<char> buffer(sizeof(Reply) + most_payload);
    Reply reply;
    if (!socket_->wait(5'000, false)) return reply;
    if (socket_->receive(buffer, true) >= static_cast<ptrdiff_t>(sizeof reply))
      std::memcpy(&reply, buffer.data(), sizeof reply);
    return reply;
  }
  uint32_t take_piece() {
    say({Ask::piece});
    return hear().count;
  }
  void begin(uint32_t join, bool self_join = false) {
    SentSpec spec = {};
    spec.self_join = self_join;
    spec.threshold = 0.5;
    spec.memory_limit = mebibyte;
    Request request{Ask::begin};
    request.work = join;
    say(request, {reinterpret_cast<const char *>(&spec), sizeof spec});
  }

 private:
  std::unique_ptr<MessageSocket> socket_;
};

}  // namespace simjoin::test
