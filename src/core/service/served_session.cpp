#include "core/service/served_session.hpp"

#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/service/gpu_service.hpp"

namespace simjoin {
namespace {

template <class T>
std::span<const char> bytes_of(const T &value) {
  return {reinterpret_cast<const char *>(&value), sizeof value};
}

}  // namespace

ServedSession::ServedSession(GpuService &service, std::shared_ptr<MessageSocket> socket)
    : service_(service), socket_(std::move(socket)) {}

ServedSession::~ServedSession() {
  end_joins();
}

// The joins' own threads let go of them.
void ServedSession::end_joins() noexcept {
  for (const auto &[number, join] : joins_) join->end();
  joins_.clear();
}

void ServedSession::run() {
  std::vector<char> buffer(sizeof(Request) + most_payload);
  for (;;) {
    const ptrdiff_t size = socket_->receive(buffer, true);
    if (size <= 0) return;
    if (faulty_) continue;
    Request request;
    if (static_cast<size_t>(size) >= sizeof request) {
      std::memcpy(&request, buffer.data(), sizeof request);
      try {
        handle(request,
               std::span<const char>(buffer).first(static_cast<size_t>(size)).subspan(sizeof request));
        continue;
      } catch (const std::exception &error) {
        refuse(0, error.what());
      }
    }
    faulty_ = true;
    end_joins();
  }
}

void ServedSession::handle(const Request &request, std::span<const char> payload) {
  switch (request.ask) {
    case Ask::hello:
      return greet();
    case Ask::piece:
      return give_piece();
    case Ask::return_piece:
      pieces_.erase(request.piece);
      return;
    case Ask::begin:
      return begin_join(request, payload);
    case Ask::devices:
      return tell_devices();
    case Ask::status:
      return answer({Answer::status}, bytes_of(service_.status()));
    case Ask::alive:
      return answer({Answer::alive}, {});
    default:
      return handle_of_join(request, payload);
  }
}

// A join that is not known has just been given up by the session.
void ServedSession::handle_of_join(const Request &request, std::span<const char> payload) {
  const auto found = joins_.find(request.join);
  if (found == joins_.end()) return;
  ServedJoin &join = *found->second;
  switch (request.ask) {
    case Ask::block:
      return add_block(join, request);
    case Ask::bytes:
      return join.add_bytes(payload);
    case Ask::ready:
      return join.set_ready();
    case Ask::finish:
      return join.set_finished();
    case Ask::credit:
      return join.add_credit();
    case Ask::sizes:
      return tell_sizes(join, request);
    case Ask::end:
      join.end();
      joins_.erase(found);
      return;
    default:
      throw Error(ErrorKind::internal, "a message to the GPU service makes no sense");
  }
}

void ServedSession::greet() {
  Hello hello = {};
  hello.bytes = service_.memory()->bytes();
  hello.pid = service_.status().pid;
  hello.slowdown = service_.backend().slowdown();
  answer({Answer::hello}, bytes_of(hello), service_.memory()->descriptor());
}

void ServedSession::give_piece() {
  const std::shared_ptr<ServicePiece> piece = service_.memory()->take(pieces_.size());
  if (piece) pieces_.emplace(piece->number(), piece);
  answer({Answer::piece, 0, piece ? piece->number() : no_piece}, {});
}

void ServedSession::begin_join(const Request &request, std::span<const char> payload) {
  SentSpec spec;
  if (payload.size() != sizeof spec || request.join == 0 || joins_.contains(request.join))
    throw Error(ErrorKind::internal, "a message to the GPU service makes no sense");
  if (joins_.size() >= most_joins)
    return refuse(request.join, "the GPU service has too many joins of this session");
  std::memcpy(&spec, payload.data(), sizeof spec);
  auto join = std::make_shared<ServedJoin>(service_, socket_, request.join, spec);
  joins_.emplace(request.join, join);
  try {
    service_.start([join] { join->run(); });
  } catch (...) {
    joins_.erase(request.join);
    throw;
  }
}

void ServedSession::add_block(ServedJoin &join, const Request &request) {
  if (request.piece == no_piece) return join.begin_block(request);
  const auto piece = pieces_.find(request.piece);
  if (piece == pieces_.end()) throw Error(ErrorKind::internal, "a piece of memory is not the session's");
  join.add_block(request, piece->second);
}

void ServedSession::tell_sizes(ServedJoin &join, const Request &request) {
  std::vector<uint32_t> sizes(most_sizes_sent);
  const Side side = request.right == 0 ? Side::left : Side::right;
  const uint32_t count = join.sizes(side, request.rows, sizes.data());
  answer({Answer::sizes, 0, count}, {reinterpret_cast<const char *>(sizes.data()), count * sizeof(uint32_t)});
}

void ServedSession::tell_devices() {
  Packer packer;
  const std::vector<GpuDevice> devices = service_.backend().devices();
  for (const GpuDevice &device : devices) visit_device(packer, device);
  answer({Answer::devices, 0, static_cast<uint32_t>(devices.size())}, packer.bytes());
}

// A session that is gone is noticed by the next receive().
void ServedSession::answer(Reply reply, std::span<const char> payload, int descriptor) {
  socket_->send(bytes_of(reply), payload, true, descriptor);
}

void ServedSession::refuse(uint32_t join, const char *why) noexcept {
  try {
    Packer packer;
    packer(static_cast<uint32_t>(ErrorKind::device_unavailable));
    packer(std::string(why));
    packer(std::string("Set simjoin.device to cpu."));
    answer({Answer::error, join}, packer.bytes());
  } catch (const std::exception &) {
    socket_->end_sending();
  }
}

}  // namespace simjoin
