#include "gpu_service/client/client_work.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/error.hpp"

namespace simjoin {
namespace {

// After such a silence the service is asked whether it lives: the work may be slow, or the process stuck.
constexpr std::chrono::seconds long_silence{2};
constexpr const char *ended_hint = "Try again later, or set simjoin.device to cpu.";

[[noreturn]] void throw_told(const ClientWork::Received &received) {
  SentError error;
  Unpacker unpack(received.payload);
  visit_error(unpack, error);
  auto known = static_cast<ErrorKind>(error.kind);
  if (known != ErrorKind::limit_exceeded && known != ErrorKind::invalid_argument) {
    known = ErrorKind::device_unavailable;
    error.hint = ended_hint;
  }
  throw Error(known, error.message, error.hint);
}

}  // namespace

ClientWork::ClientWork(std::shared_ptr<ClientConnection> connection)
    : connection_(std::move(connection)), number_(connection_->add_work()) {}

ClientWork::~ClientWork() {
  connection_->remove_work(number_);
}

Request ClientWork::request(Ask ask) const {
  Request request{ask};
  request.work = number_;
  return request;
}

bool ClientWork::send_bytes(const char *data, size_t bytes, size_t &sent) {
  while (sent < bytes) {
    const size_t count = std::min(most_payload, bytes - sent);
    if (!connection_->try_post(request(Ask::bytes), {data + sent, count})) return false;
    sent += count;
  }
  return true;
}

std::optional<ClientWork::Received> ClientWork::next() {
  std::optional<Received> received = connection_->next(number_);
  if (!received) return received;
  heard_ = Clock::now();
  if (received->reply.answer == Answer::error) throw_told(*received);
  return received;
}

bool ClientWork::wait(Clock::time_point until, bool for_room, const StopFlag *stop) {
  if (Clock::now() - heard_ >= long_silence) {
    connection_->find_out_whether_alive(stop);
    heard_ = Clock::now();
  }
  if (!connection_->works()) throw_ended();
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  if (left <= 0) return false;
  connection_->wait(static_cast<int>(left), for_room);
  return true;
}

void ClientWork::throw_ended() const {
  const std::string why = connection_->failure();
  throw Error(ErrorKind::device_unavailable, why.empty() ? "the GPU service sends what makes no sense" : why,
              ended_hint);
}

}  // namespace simjoin
