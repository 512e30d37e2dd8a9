#include "gpu_service/client/client_join.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/interruption.hpp"

namespace simjoin {
namespace {

constexpr uint32_t unknown_size = UINT32_MAX;
constexpr std::chrono::milliseconds between_looks{50};

}  // namespace

ClientJoin::ClientJoin(std::shared_ptr<ClientConnection> connection, const JoinSpec &spec)
    : work_(std::move(connection)), self_join_(spec.self_join), memory_limit_(spec.memory_limit) {
  stats_.device = "gpu";
  SentSpec sent = {};
  sent.measure = static_cast<uint32_t>(spec.measure);
  sent.algorithm = static_cast<uint32_t>(spec.algorithm);
  sent.self_join = spec.self_join ? 1 : 0;
  sent.gpus = spec.gpus;
  sent.threshold = spec.threshold;
  sent.memory_limit = spec.memory_limit;
  sent.gpu_memory_limit = spec.gpu_memory_limit;
  work_.post(Ask::begin, bytes_of(sent));
}

void ClientJoin::add_block(SharedBlock block) {
  rows_[static_cast<size_t>(block->side())] += block->rows();
  unsent_bytes_ += block->bytes_used();
  unsent_.push_back(std::move(block));
  send_all();
  take_admission();
  if (unsent_bytes_ > memory_limit_) keep_to_limit();
}

// Takes what comes before there are pairs.
void ClientJoin::take_admission() {
  Batch none;
  while (const auto received = work_.next()) take(*received, none);
  if (!work_.connection().works()) work_.throw_ended();
}

// Waits until the service takes sets: it is the join's turn although there will be more.
void ClientJoin::keep_to_limit() {
  if (!admitted_) work_.post(Ask::ready);
  while (!send_all() && unsent_bytes_ > memory_limit_) {
    check_interruption();
    wait(Clock::now() + between_looks);
    take_admission();
  }
}

// Sends blocks as far as there is room. Returns whether all have gone.
bool ClientJoin::send_all() {
  for (; !unsent_.empty(); unsent_.pop_front()) {
    if (!send_block(*unsent_.front())) return false;
    unsent_bytes_ -= unsent_.front()->bytes_used();
  }
  return true;
}

// The service has room for a block that is not in its memory once it is the join's turn.
bool ClientJoin::send_block(const SetBlock &block) {
  const SetSlice all = block.all();
  Request message = work_.request(Ask::block);
  message.piece = work_.connection().number_of(block.piece());
  message.rows = all.rows;
  message.right = block.side() == Side::right ? 1 : 0;
  message.wide = all.wide() ? 1 : 0;
  message.tokens_at = block.tokens_at();
  message.token_count = all.token_count;
  if (message.piece != no_piece) return work_.connection().try_post(message, {});
  if (!admitted_) return false;
  if (!begun_ && !work_.connection().try_post(message, {})) return false;
  begun_ = true;
  if (!work_.send_bytes(reinterpret_cast<const char *>(all.lengths), all.rows * sizeof(uint32_t),
                        lengths_sent_) ||
      !work_.send_bytes(all.tokens, all.token_bytes(), tokens_sent_))
    return false;
  begun_ = false;
  lengths_sent_ = tokens_sent_ = 0;
  return true;
}

bool ClientJoin::wait(Clock::time_point until) {
  return work_.wait(until, !finished_ && admitted_);
}

StepResult ClientJoin::step(std::chrono::microseconds budget, Batch &out) {
  const auto until = Clock::now() + budget;
  if (!ready_) {
    for (int credit = 0; credit < ClientWork::most_credits; ++credit) work_.post(Ask::credit);
    work_.post(Ask::ready);
    ready_ = true;
  }
  while (!done_) {
    if (!finished_ && send_all()) {
      work_.post(Ask::finish);
      finished_ = true;
    }
    if (const auto received = work_.next()) {
      if (take(*received, out) == StepResult::batch) return StepResult::batch;
      continue;
    }
    if (!wait(until)) return StepResult::working;
  }
  return StepResult::done;
}

// Returns `batch` if the message has pairs.
StepResult ClientJoin::take(const Received &received, Batch &out) {
  switch (received.reply.answer) {
    case Answer::admitted:
      admitted_ = true;
      break;
    case Answer::pairs:
      share_done_ = received.reply.share_done;
      take_pairs(received, out);
      work_.post(Ask::credit);
      return StepResult::batch;
    case Answer::done:
      done_ = true;
      [[fallthrough]];
    case Answer::progress:
      share_done_ = received.reply.share_done;
      take_stats(received);
      work_.post(Ask::credit);
      break;
    default:
      work_.throw_ended();
  }
  return done_ ? StepResult::done : StepResult::working;
}

void ClientJoin::take_pairs(const Received &received, Batch &out) {
  const size_t count = received.reply.count;
  if (received.payload.size() != 5 * count * sizeof(uint32_t)) work_.throw_ended();
  const auto *column = reinterpret_cast<const uint32_t *>(received.payload.data());
  out.clear();
  for (auto *to : {&out.left, &out.right, &out.overlap}) {
    to->assign(column, column + count);
    column += count;
  }
  note_sizes(Side::left, out.left, column);
  note_sizes(self_join_ ? Side::left : Side::right, out.right, column + count);
}

void ClientJoin::note_sizes(Side side, const std::vector<uint32_t> &rows, const uint32_t *sizes_of_rows) {
  std::vector<uint32_t> &sizes = sizes_[static_cast<size_t>(side)];
  sizes.resize(rows_[static_cast<size_t>(side)], unknown_size);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] >= sizes.size()) work_.throw_ended();
    sizes[rows[i]] = sizes_of_rows[i];
  }
}

void ClientJoin::take_stats(const Received &received) {
  Unpacker unpack(received.payload);
  visit_stats(unpack, stats_);
}

// Sizes come with the pairs. Rows without a pair are asked for once the join is done.
uint32_t ClientJoin::set_size(Side side, uint32_t row) const {
  std::vector<uint32_t> &sizes = sizes_[static_cast<size_t>(side)];
  sizes.resize(rows_[static_cast<size_t>(side)], unknown_size);
  while (sizes[row] == unknown_size) {
    Request message = work_.request(Ask::sizes);
    message.right = side == Side::right ? 1 : 0;
    message.rows = row;
    const auto received = work_.connection().ask(message);
    const size_t count = received ? received->reply.count : 0;
    if (count == 0 || received->payload.size() != count * sizeof(uint32_t) || count > sizes.size() - row)
      work_.throw_ended();
    std::memcpy(sizes.data() + row, received->payload.data(), count * sizeof(uint32_t));
  }
  return sizes[row];
}

JoinStats ClientJoin::stats() const {
  JoinStats stats = stats_;
  stats.device += " (service)";
  return stats;
}

}  // namespace simjoin
