// A join by the GPU service, as its session sees it.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/join.hpp"
#include "core/sets/set_blocks.hpp"
#include "gpu_service/client/client_work.hpp"

namespace simjoin {

// Sets in the service's memory go there as they are, others through the socket. Errors of the join are those
// of the service's engine, or of ClientWork.
class ClientJoin final : public JoinEngine {
 public:
  ClientJoin(std::shared_ptr<ClientConnection> connection, const JoinSpec &spec);

  void add_block(SharedBlock block) override;
  StepResult step(std::chrono::microseconds budget, Batch &out) override;
  uint32_t set_size(Side side, uint32_t row) const override;
  JoinStats stats() const override;
  double share_done() const override { return share_done_; }

 private:
  using Received = ClientWork::Received;
  using Clock = ClientWork::Clock;

  bool send_all();
  bool send_block(const SetBlock &block);
  void take_admission();
  void keep_to_limit();
  bool wait(Clock::time_point until);
  StepResult take(const Received &received, Batch &out);
  void take_pairs(const Received &received, Batch &out);
  void note_sizes(Side side, const std::vector<uint32_t> &rows, const uint32_t *sizes_of_rows);
  void take_stats(const Received &received);

  ClientWork work_;
  const bool self_join_;
  const size_t memory_limit_;
  std::deque<SharedBlock> unsent_;
  size_t unsent_bytes_ = 0;
  // Of the first block in unsent_, if it goes through the socket.
  bool begun_ = false;
  size_t lengths_sent_ = 0, tokens_sent_ = 0;
  size_t rows_[2] = {0, 0};
  bool admitted_ = false, ready_ = false, finished_ = false, done_ = false;
  JoinStats stats_;
  double share_done_ = unknown_share;
  mutable std::vector<uint32_t> sizes_[2];  // by row; unknown_size where nobody has told
};

}  // namespace simjoin
