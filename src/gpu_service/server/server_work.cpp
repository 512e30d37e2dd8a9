#include "gpu_service/server/server_work.hpp"

#include <exception>
#include <new>

namespace simjoin {

void ServerWork::add_credit() {
  const std::lock_guard lock(mutex_);
  ++credits_;
  changed_.notify_all();
}

void ServerWork::end() {
  const std::lock_guard lock(mutex_);
  stop_.set();
  changed_.notify_all();
}

void ServerWork::run() {
  try {
    Admission::Turn turn(host_.admission());
    work(turn);
  } catch (const Cancelled &) {
  } catch (const Error &error) {
    fail(error.kind(), error.what(), error.hint());
  } catch (const std::bad_alloc &) {
    fail(ErrorKind::limit_exceeded, "the GPU service is out of memory", "Set simjoin.device to cpu.");
  } catch (const std::exception &error) {
    fail(ErrorKind::device_unavailable, error.what(), "Set simjoin.device to cpu.");
  }
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stop_.is_set(); });
  }
  release();
}

bool ServerWork::has_credit() const {
  const std::lock_guard lock(mutex_);
  return credits_ > 0;
}

void ServerWork::send_for_credit(Reply reply, std::span<const char> payload, Admission::Turn &turn) {
  {
    std::unique_lock lock(mutex_);
    wait_for_session(lock, turn, [this] { return credits_ > 0; });
    --credits_;
  }
  send(reply, payload, &turn);
}

// While the session takes nothing, others have the place.
void ServerWork::send(Reply reply, std::span<const char> payload, Admission::Turn *turn) {
  Sent sent = socket_->send(bytes_of(reply), payload, false);
  if (sent == Sent::full) {
    if (turn != nullptr) turn->leave();
    sent = socket_->send(bytes_of(reply), payload, true);
    if (turn != nullptr) turn->come_back();
  }
  if (sent != Sent::yes) throw Cancelled{};
}

// Tells the session, and frees what the work has. An error needs no credit.
void ServerWork::fail(ErrorKind kind, const std::string &message, const std::string &hint) noexcept {
  try {
    release();
    SentError error{static_cast<uint32_t>(kind), message, hint};
    Packer packer;
    visit_error(packer, error);
    send({Answer::error, number_}, packer.bytes());
  } catch (...) {
    // The session is gone, or learns of the failure by the end of the connection.
    socket_->end_sending();
  }
  if (kind == ErrorKind::device_failure) host_.lose_device(message);
}

}  // namespace simjoin
