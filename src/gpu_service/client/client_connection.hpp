// A session's connection to the GPU service.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/host_pieces.hpp"
#include "core/base/worker_pool.hpp"
#include "core/device/gpu.hpp"
#include "gpu_service/wire/message_socket.hpp"
#include "gpu_service/wire/messages.hpp"

namespace simjoin {

// Closed once nobody has a piece of its memory. Safe for use by several threads. A connection that breaks
// stays broken; its memory remains.
class ClientConnection : public std::enable_shared_from_this<ClientConnection> {
 public:
  struct Received {
    Reply reply;
    std::vector<char> payload;
  };

  // Returns a connection to the service at `path`; null if there is none.
  static std::shared_ptr<ClientConnection> open(const std::string &path);
  explicit ClientConnection(std::unique_ptr<MessageSocket> socket);
  ~ClientConnection();
  ClientConnection(const ClientConnection &) = delete;
  ClientConnection &operator=(const ClientConnection &) = delete;

  bool works() const;
  // Finds out whether the service has ended since the last message.
  void take_notice_of_end();
  // Finds out whether the service still answers. A thread that is not the caller's has a flag that it looks
  // at meanwhile. Throws Cancelled.
  void find_out_whether_alive(const StopFlag *stop = nullptr);
  // Returns why it does not.
  std::string failure() const;
  const GpuSlowdown &slowdown() const { return hello_.slowdown; }

  // Returns a piece of the service's memory, empty if it gives none.
  HostPiece take_piece();
  // Returns the number of a piece that is this service's; no_piece for others.
  uint32_t number_of(const HostPiece &piece) const;

  // Returns the number of new work. Replies to it are kept for it until remove_work().
  uint32_t add_work();
  void remove_work(uint32_t work) noexcept;
  // Returns the next reply to it; none if there is none yet.
  std::optional<Received> next(uint32_t work);

  // Sends a message now or, if there is no room, before the next one.
  void post(const Request &request, std::span<const char> payload = {});
  // Sends a message if there is room, and returns whether it did.
  bool try_post(const Request &request, std::span<const char> payload);
  // Waits for a reply, or for room if `for_room`, for some milliseconds at most. Returns whether there may be
  // some.
  bool wait(int milliseconds, bool for_room);

  // Asks and returns the answer; none if it does not come. Throws Cancelled if the caller wants to give up.
  std::optional<Received> ask(const Request &request);

 private:
  bool map_memory(int descriptor);
  bool flush();
  Sent send(const Request &request, std::span<const char> payload);
  void receive_all();
  void sort(const Reply &reply, std::span<const char> payload);
  void fail(const std::string &why);
  void check_caller(const StopFlag *stop);
  void return_piece(uint32_t number) noexcept;
  std::optional<Received> ask_locked(const Request &request, int *descriptor, const StopFlag *stop);

  const std::unique_ptr<MessageSocket> socket_;
  Hello hello_ = {};
  char *memory_ = nullptr;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<char> buffer_;
  std::vector<bool> touched_;                         // by piece
  std::deque<std::vector<char>> unsent_;              // messages
  std::map<uint32_t, std::deque<Received>> replies_;  // by work
  std::optional<Received> answer_;                    // that belongs to none
  uint32_t works_so_far_ = 0;
  bool works_ = true;
  std::string failure_;
};

}  // namespace simjoin
