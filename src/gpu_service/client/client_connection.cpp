#include "gpu_service/client/client_connection.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <utility>

#include "core/base/interruption.hpp"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace simjoin {
namespace {

// The service answers within milliseconds unless it is stuck, or the machine is busy.
constexpr std::chrono::milliseconds longest_answer{5000};
constexpr std::chrono::milliseconds between_looks_at_caller{50}, between_looks_at_flag{10};
// An end that the socket has no room for waits so long, and else for the next message.
constexpr int longest_wait_to_end_ms = 50;

}  // namespace

ClientConnection::ClientConnection(std::unique_ptr<MessageSocket> socket)
    : socket_(std::move(socket)), buffer_(sizeof(Reply) + most_payload) {}

ClientConnection::~ClientConnection() {
  if (memory_ != nullptr) munmap(memory_, hello_.bytes);
}

std::shared_ptr<ClientConnection> ClientConnection::open(const std::string &path) {
  std::unique_ptr<MessageSocket> socket = MessageSocket::connect_to(path);
  if (!socket) return nullptr;
  auto connection = std::make_shared<ClientConnection>(std::move(socket));
  int descriptor = -1;
  const std::lock_guard lock(connection->mutex_);
  const std::optional<Received> answer = connection->ask_locked({Ask::hello}, &descriptor, nullptr);
  const bool greeted =
      answer && answer->reply.answer == Answer::hello && answer->payload.size() == sizeof(Hello);
  if (greeted) std::memcpy(&connection->hello_, answer->payload.data(), sizeof(Hello));
  const bool mapped = greeted && connection->map_memory(descriptor);
  if (descriptor >= 0) close(descriptor);
  return mapped ? connection : nullptr;
}

bool ClientConnection::map_memory(int descriptor) {
  struct stat file;
  if (descriptor < 0 || fstat(descriptor, &file) != 0 || static_cast<uint64_t>(file.st_size) != hello_.bytes)
    return false;
  void *data = mmap(nullptr, hello_.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) return false;
  memory_ = static_cast<char *>(data);
  touched_.resize(hello_.bytes / HostPieces::usual_bytes);
  return true;
}

bool ClientConnection::works() const {
  const std::lock_guard lock(mutex_);
  return works_;
}

void ClientConnection::take_notice_of_end() {
  const std::lock_guard lock(mutex_);
  flush();
  receive_all();
}

std::string ClientConnection::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void ClientConnection::fail(const std::string &why) {
  if (works_) failure_ = why;
  works_ = false;
}

// Throws Cancelled if the caller gives its question up. The answer would be taken for that of the next one,
// so the connection is given up, too.
void ClientConnection::check_caller(const StopFlag *stop) {
  try {
    stop != nullptr ? stop->check() : check_interruption();
  } catch (...) {
    fail("a question to the GPU service was given up");
    throw;
  }
}

void ClientConnection::find_out_whether_alive(const StopFlag *stop) {
  const std::lock_guard lock(mutex_);
  ask_locked({Ask::alive}, nullptr, stop);
}

HostPiece ClientConnection::take_piece() {
  const std::optional<Received> answer = ask({Ask::piece});
  if (!answer || answer->reply.answer != Answer::piece || answer->reply.count >= touched_.size()) return {};
  const uint32_t number = answer->reply.count;
  char *data = memory_ + number * HostPieces::usual_bytes;
  // The token keeps the connection, and with it the memory, and gives the piece back.
  std::shared_ptr<void> loan(data,
                             [self = shared_from_this(), number](void *) { self->return_piece(number); });
  const std::lock_guard lock(mutex_);
  // The pages exist. One call is cheaper than a fault for each of them.
  if (!touched_[number]) madvise(data, HostPieces::usual_bytes, MADV_POPULATE_WRITE);
  touched_[number] = true;
  return {data, HostPieces::usual_bytes, nullptr, std::move(loan)};
}

void ClientConnection::return_piece(uint32_t number) noexcept {
  try {
    Request request{Ask::return_piece};
    request.piece = number;
    post(request);
  } catch (const std::exception &) {
    // Without memory for the message the session has the piece until it ends.
  }
}

uint32_t ClientConnection::number_of(const HostPiece &piece) const {
  if (!piece.loan || piece.data < memory_ || piece.data >= memory_ + hello_.bytes) return no_piece;
  return static_cast<uint32_t>(static_cast<size_t>(piece.data - memory_) / HostPieces::usual_bytes);
}

uint32_t ClientConnection::add_work() {
  const std::lock_guard lock(mutex_);
  replies_[++works_so_far_];
  return works_so_far_;
}

void ClientConnection::remove_work(uint32_t work) noexcept {
  try {
    Request request{Ask::end};
    request.work = work;
    post(request);
    const std::lock_guard lock(mutex_);
    replies_.erase(work);
    receive_all();  // a reply in the socket may hold the service's thread up
    // An idle session sends nothing, and the service would keep what the work has.
    if (works_ && !flush()) {
      socket_->wait(longest_wait_to_end_ms, true);
      flush();
    }
  } catch (const std::exception &) {
    // Without memory for the message the work ends with the session.
  }
}

std::optional<ClientConnection::Received> ClientConnection::next(uint32_t work) {
  const std::lock_guard lock(mutex_);
  std::deque<Received> &replies = replies_[work];
  if (replies.empty()) receive_all();
  if (replies.empty()) return std::nullopt;
  std::optional<Received> first = std::move(replies.front());
  replies.pop_front();
  return first;
}

Sent ClientConnection::send(const Request &request, std::span<const char> payload) {
  if (!works_) return Sent::broken;
  return socket_->send(bytes_of(request), payload, false);
}

// Returns whether all messages have been sent.
bool ClientConnection::flush() {
  while (!unsent_.empty() && works_) {
    if (socket_->send(unsent_.front(), {}, false) != Sent::yes) break;
    unsent_.pop_front();
  }
  return unsent_.empty();
}

// What cannot be sent because the connection broke is dropped: receiving tells of the end.
void ClientConnection::post(const Request &request, std::span<const char> payload) {
  const std::lock_guard lock(mutex_);
  if (!works_) return;
  if (flush() && send(request, payload) != Sent::full) return;
  std::vector<char> &message = unsent_.emplace_back(sizeof request + payload.size());
  std::memcpy(message.data(), &request, sizeof request);
  if (!payload.empty()) std::memcpy(message.data() + sizeof request, payload.data(), payload.size());
}

bool ClientConnection::try_post(const Request &request, std::span<const char> payload) {
  const std::lock_guard lock(mutex_);
  return !works_ || (flush() && send(request, payload) != Sent::full);
}

bool ClientConnection::wait(int milliseconds, bool for_room) {
  bool unsent;
  {
    const std::lock_guard lock(mutex_);
    if (!works_) return true;
    unsent = !flush();
  }
  return socket_->wait(milliseconds, for_room || unsent);
}

// Takes what has come, without waiting.
void ClientConnection::receive_all() {
  while (works_) {
    const ptrdiff_t size = socket_->receive(buffer_, false);
    if (size < 0) return;
    Reply reply;
    if (static_cast<size_t>(size) < sizeof reply) return fail("the GPU service has ended");
    std::memcpy(&reply, buffer_.data(), sizeof reply);
    sort(reply, std::span<const char>(buffer_).first(static_cast<size_t>(size)).subspan(sizeof reply));
  }
}

// Gives a reply to its work, if that still exists.
void ClientConnection::sort(const Reply &reply, std::span<const char> payload) {
  if (reply.work != 0) {
    const auto work = replies_.find(reply.work);
    if (work != replies_.end()) work->second.push_back({reply, {payload.begin(), payload.end()}});
  } else if (reply.answer == Answer::error) {
    SentError error;
    Unpacker unpack(payload);
    visit_error(unpack, error);
    fail("the GPU service refuses: " + error.message);
  } else {
    answer_ = {reply, {payload.begin(), payload.end()}};
  }
}

std::optional<ClientConnection::Received> ClientConnection::ask(const Request &request) {
  const std::lock_guard lock(mutex_);
  return ask_locked(request, nullptr, nullptr);
}

// Only one question is open at a time, so the next answer belongs to it.
std::optional<ClientConnection::Received> ClientConnection::ask_locked(const Request &request,
                                                                       int *descriptor,
                                                                       const StopFlag *stop) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + longest_answer;
  answer_.reset();
  bool asked = false;
  while (works_) {
    if (!asked && flush()) asked = send(request, {}) == Sent::yes;
    if (descriptor != nullptr) {
      const ptrdiff_t size = socket_->receive(buffer_, false, descriptor);
      Reply reply;
      if (size == 0) fail("the GPU service has ended");
      if (size >= static_cast<ptrdiff_t>(sizeof reply)) {
        std::memcpy(&reply, buffer_.data(), sizeof reply);
        sort(reply, std::span<const char>(buffer_).first(static_cast<size_t>(size)).subspan(sizeof reply));
      }
    } else {
      receive_all();
    }
    if (answer_) return std::exchange(answer_, std::nullopt);
    if (!works_) break;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) {
      fail("the GPU service does not answer");
    } else {
      const auto between = stop != nullptr ? between_looks_at_flag : between_looks_at_caller;
      socket_->wait(static_cast<int>(std::min<int64_t>(left, between.count())), !asked);
      check_caller(stop);
    }
  }
  return std::nullopt;
}

}  // namespace simjoin
