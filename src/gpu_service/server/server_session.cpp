#include "gpu_service/server/server_session.hpp"

#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "gpu_service/server/gpu_service.hpp"
#include "gpu_service/server/server_search.hpp"

namespace simjoin {

ServerSession::ServerSession(GpuService &service, std::shared_ptr<MessageSocket> socket)
    : service_(service), socket_(std::move(socket)) {}

ServerSession::~ServerSession() {
  end_works();
}

// The works' own threads let go of them.
void ServerSession::end_works() noexcept {
  for (const auto &[number, work] : works_) work->end();
  works_.clear();
}

void ServerSession::run() {
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
    end_works();
  }
}

void ServerSession::handle(const Request &request, std::span<const char> payload) {
  switch (request.ask) {
    case Ask::hello:
      return greet();
    case Ask::piece:
      return give_piece();
    case Ask::return_piece:
      pieces_.erase(request.piece);
      return;
    case Ask::begin:
      return begin<ServerJoin, SentSpec>(request, payload);
    case Ask::search:
      return begin<ServerSearch, SentSearch>(request, payload);
    case Ask::status:
      return answer({Answer::status}, bytes_of(service_.status()));
    case Ask::alive:
      return answer({Answer::alive}, {});
    default:
      return handle_of_work(request, payload);
  }
}

// Work that is not known has just been given up by the session.
void ServerSession::handle_of_work(const Request &request, std::span<const char> payload) {
  const auto found = works_.find(request.work);
  if (found == works_.end()) return;
  ServerWork &work = *found->second;
  switch (request.ask) {
    case Ask::bytes:
      return work.add_bytes(payload);
    case Ask::credit:
      return work.add_credit();
    case Ask::end:
      work.end();
      works_.erase(found);
      return;
    default:
      if (auto *join = dynamic_cast<ServerJoin *>(&work)) return handle_of_join(*join, request);
      throw_senseless();
  }
}

void ServerSession::handle_of_join(ServerJoin &join, const Request &request) {
  switch (request.ask) {
    case Ask::block:
      return add_block(join, request);
    case Ask::ready:
      return join.set_ready();
    case Ask::finish:
      return join.set_finished();
    case Ask::sizes:
      return tell_sizes(join, request);
    default:
      throw_senseless();
  }
}

void ServerSession::greet() {
  Hello hello = {};
  hello.bytes = service_.memory()->bytes();
  hello.pid = service_.status().pid;
  hello.slowdown = service_.backend().slowdown();
  answer({Answer::hello}, bytes_of(hello), service_.memory()->descriptor());
}

void ServerSession::give_piece() {
  const std::shared_ptr<ServerPiece> piece = service_.memory()->take(pieces_.size());
  if (piece) pieces_.emplace(piece->number(), piece);
  answer({Answer::piece, 0, piece ? piece->number() : no_piece}, {});
}

template <class Work, class Told>
void ServerSession::begin(const Request &request, std::span<const char> payload) {
  Told told;
  if (payload.size() != sizeof told) throw_senseless();
  std::memcpy(&told, payload.data(), sizeof told);
  if (request.work == 0 || works_.contains(request.work)) throw_senseless();
  if (works_.size() >= most_works)
    return refuse(request.work, "the GPU service has too many joins of this session");
  auto work = std::make_shared<Work>(service_, socket_, request.work, told);
  works_.emplace(request.work, work);
  try {
    service_.start([work] { work->run(); });
  } catch (...) {
    works_.erase(request.work);
    throw;
  }
}

void ServerSession::add_block(ServerJoin &join, const Request &request) {
  if (request.piece == no_piece) return join.begin_block(request);
  const auto piece = pieces_.find(request.piece);
  if (piece == pieces_.end()) throw Error(ErrorKind::internal, "a piece of memory is not the session's");
  join.add_block(request, piece->second);
}

void ServerSession::tell_sizes(ServerJoin &join, const Request &request) {
  std::vector<uint32_t> sizes(most_sizes_sent);
  const Side side = request.right == 0 ? Side::left : Side::right;
  const uint32_t count = join.sizes(side, request.rows, sizes.data());
  answer({Answer::sizes, 0, count}, {reinterpret_cast<const char *>(sizes.data()), count * sizeof(uint32_t)});
}

// A session that is gone is noticed by the next receive().
void ServerSession::answer(Reply reply, std::span<const char> payload, int descriptor) {
  socket_->send(bytes_of(reply), payload, true, descriptor);
}

void ServerSession::refuse(uint32_t work, const char *why) noexcept {
  try {
    SentError error{static_cast<uint32_t>(ErrorKind::device_unavailable), why, "Set simjoin.device to cpu."};
    Packer packer;
    visit_error(packer, error);
    answer({Answer::error, work}, packer.bytes());
  } catch (const std::exception &) {
    socket_->end_sending();
  }
}

}  // namespace simjoin
