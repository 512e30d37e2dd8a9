// A join in the GPU service: its sets come from a session, and its pairs go there.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "core/base/error.hpp"
#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/join.hpp"
#include "core/service/admission.hpp"
#include "core/service/message_socket.hpp"
#include "core/service/messages.hpp"
#include "core/service/service_memory.hpp"
#include "core/sets/set_blocks.hpp"

namespace simjoin {

// What joins of the service share.
class JoinHost {
 public:
  virtual ~JoinHost() = default;
  virtual std::unique_ptr<JoinEngine> make_engine(const JoinSpec &spec) = 0;
  virtual Admission &admission() = 0;
  virtual void count_join() = 0;
  // The device is lost for this process.
  virtual void lose_device(const std::string &why) = 0;
};

// The thread of run() alone touches the engine, until the join is done. The session's thread calls all else.
// It trusts no number of the session: an Error says that a message makes no sense.
class ServedJoin {
 public:
  ServedJoin(JoinHost &host, std::shared_ptr<MessageSocket> socket, uint32_t number, const SentSpec &spec);

  // Does the join until end() is called.
  void run();

  // Takes a block that lies in a piece.
  void add_block(const Request &request, std::shared_ptr<ServicePiece> piece);
  // Takes a block whose bytes follow, and such bytes.
  void begin_block(const Request &request);
  void add_bytes(std::span<const char> bytes);
  void set_ready();
  void set_finished();
  void add_credit();
  // Fills `out` with sizes of sets of a side from a row on, at most most_sizes_sent. Returns their number.
  uint32_t sizes(Side side, uint32_t first_row, uint32_t *out);
  void end();

 private:
  enum class State : uint8_t { joining, done, failed };

  void join(Admission::Turn &turn);
  void wait_for_ready();
  void feed(Admission::Turn &turn, bool early);
  void hand_over(Admission::Turn &turn);
  void send_pairs(const Batch &batch, Admission::Turn &turn);
  void send_stats(Answer answer, Admission::Turn &turn);
  bool has_credit() const;
  void take_credit(Admission::Turn &turn);
  void send(Reply reply, std::span<const char> payload, Admission::Turn *turn = nullptr);
  void fail(ErrorKind kind, const std::string &message, const std::string &hint) noexcept;
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

  JoinHost &host_;
  const std::shared_ptr<MessageSocket> socket_;
  const uint32_t number_;
  JoinSpec spec_;
  StopFlag stop_;
  MemoryCounter memory_;
  // Of the session's thread.
  std::unique_ptr<Incoming> incoming_;
  uint64_t rows_[2] = {0, 0};
  std::optional<bool> wide_;  // the type of the sets so far

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<SharedBlock> blocks_;
  bool ready_ = false, finished_ = false;
  uint64_t credits_ = 0;
  State state_ = State::joining;

  std::unique_ptr<JoinEngine> engine_;  // last: it holds blocks
};

}  // namespace simjoin
