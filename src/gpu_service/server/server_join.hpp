// A join in the GPU service: its sets come from a session, and its pairs go there.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "core/join.hpp"
#include "core/sets/set_blocks.hpp"
#include "gpu_service/server/server_memory.hpp"
#include "gpu_service/server/server_work.hpp"

namespace simjoin {

// The thread of run() alone touches the engine, until the join is done.
class ServerJoin final : public ServerWork {
 public:
  ServerJoin(ServerHost &host, std::shared_ptr<MessageSocket> socket, uint32_t number, const SentSpec &spec);

  // Takes a block that lies in a piece.
  void add_block(const Request &request, std::shared_ptr<ServerPiece> piece);
  // Takes a block whose bytes follow, and such bytes.
  void begin_block(const Request &request);
  void add_bytes(std::span<const char> bytes) override;
  void set_ready();
  void set_finished();
  // Fills `out` with sizes of sets of a side from a row on, at most most_sizes_sent. Returns their number.
  uint32_t sizes(Side side, uint32_t first_row, uint32_t *out);

 private:
  enum class State : uint8_t { joining, done, failed };

  void work(Admission::Turn &turn) override;
  void release() noexcept override;
  void wait_for_ready();
  void feed(Admission::Turn &turn, bool early);
  void hand_over(Admission::Turn &turn);
  void send_pairs(const Batch &batch, Admission::Turn &turn);
  void send_stats(Answer answer, Admission::Turn &turn);
  void append(HostPiece piece, const Request &request);

  // A block on its way through the socket.
  struct Incoming {
    Request request;
    HostPiece piece;
    size_t bytes, filled = 0;

    Incoming(const Request &request, size_t bytes)
        : request(request), piece(HostPieces::of_process().take(bytes)), bytes(bytes) {}
    ~Incoming() { HostPieces::of_process().give_back(piece); }
  };

  JoinSpec spec_;
  // Of the session's thread.
  std::unique_ptr<Incoming> incoming_;
  uint64_t rows_[2] = {0, 0};
  std::optional<bool> wide_;  // the type of the sets so far

  // Guarded by mutex_.
  std::deque<SharedBlock> blocks_;
  bool ready_ = false, finished_ = false;
  State state_ = State::joining;

  std::unique_ptr<JoinEngine> engine_;  // last: it holds blocks
};

}  // namespace simjoin
