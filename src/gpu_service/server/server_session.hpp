// The service's end of a connection: what one session asks.
#pragma once

#include <map>
#include <memory>
#include <span>

#include "gpu_service/server/server_join.hpp"
#include "gpu_service/server/server_memory.hpp"
#include "gpu_service/wire/message_socket.hpp"
#include "gpu_service/wire/messages.hpp"

namespace simjoin {

class GpuService;

// A session has its pieces until it gives them back or closes its end, and not until the service finds fault
// with it: it may still read them, and nobody else may write there.
class ServerSession {
 public:
  ServerSession(GpuService &service, std::shared_ptr<MessageSocket> socket);
  ~ServerSession();
  ServerSession(const ServerSession &) = delete;
  ServerSession &operator=(const ServerSession &) = delete;

  // Serves until the session closes its end.
  void run();

 private:
  static constexpr size_t most_works = 256;

  void handle(const Request &request, std::span<const char> payload);
  void handle_of_work(const Request &request, std::span<const char> payload);
  void handle_of_join(ServerJoin &join, const Request &request);
  // Begins a join or a search, which is told by a structure.
  template <class Work, class Told>
  void begin(const Request &request, std::span<const char> payload);
  void greet();
  void give_piece();
  void add_block(ServerJoin &join, const Request &request);
  void tell_sizes(ServerJoin &join, const Request &request);
  void answer(Reply reply, std::span<const char> payload, int descriptor = -1);
  void refuse(uint32_t work, const char *why) noexcept;
  void end_works() noexcept;

  GpuService &service_;
  const std::shared_ptr<MessageSocket> socket_;
  std::map<uint32_t, std::shared_ptr<ServerPiece>> pieces_;
  std::map<uint32_t, std::shared_ptr<ServerWork>> works_;
  bool faulty_ = false;  // what comes makes no sense, and nothing is done any more
};

}  // namespace simjoin
