#include "gpu_service/server/server_join.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <utility>

namespace simjoin {
namespace {

constexpr std::chrono::milliseconds between_progress{100};
constexpr std::chrono::microseconds longest_step{10'000};
// More bytes than any row of PostgreSQL has.
constexpr size_t largest_block = size_t{2} << 30;

JoinSpec checked(const SentSpec &sent) {
  const auto algorithm = static_cast<Algorithm>(sent.algorithm);
  if (sent.measure > static_cast<uint32_t>(Measure::reverse_containment) ||
      sent.algorithm >= std::size(algorithm_names) || needs_cpu(algorithm) || sent.self_join > 1 ||
      sent.gpus < 0)
    throw_senseless();
  JoinSpec spec;
  spec.measure = static_cast<Measure>(sent.measure);
  spec.algorithm = algorithm;
  spec.self_join = sent.self_join != 0;
  spec.threshold = sent.threshold;
  spec.gpus = sent.gpus;
  spec.memory_limit = sent.memory_limit;
  spec.gpu_memory_limit = sent.gpu_memory_limit;
  spec.device = Device::gpu;
  return spec;
}

size_t width_of(const Request &request) {
  return request.wide != 0 ? sizeof(int64_t) : sizeof(int32_t);
}

// Throws unless the block has a shape that a join can have.
void check_block(const Request &request, const JoinSpec &spec, const uint64_t (&rows)[2],
                 std::optional<bool> &wide) {
  if (request.right > (spec.self_join ? 0u : 1u) || request.wide > 1 || request.rows == 0 ||
      rows[request.right] + request.rows >= UINT32_MAX || request.token_count > largest_block)
    throw_senseless();
  if (request.token_count == 0) return;
  if (wide.has_value() && *wide != (request.wide != 0)) throw_senseless();
  wide = request.wide != 0;
}

// Throws unless the lengths of the rows are those of the tokens.
void check_lengths(const HostPiece &piece, const Request &request) {
  const auto *lengths = reinterpret_cast<const uint32_t *>(piece.data);
  if (std::accumulate(lengths, lengths + request.rows, uint64_t{0}) != request.token_count) throw_senseless();
}

// Pieces of the service's memory are page-locked as one, and stay so.
void stay_locked(void *) noexcept {}

}  // namespace

ServerJoin::ServerJoin(ServerHost &host, std::shared_ptr<MessageSocket> socket, uint32_t number,
                       const SentSpec &spec)
    : ServerWork(host, std::move(socket), number), spec_(checked(spec)) {}

// Hands the block to the join's thread.
void ServerJoin::append(HostPiece piece, const Request &request) {
  const auto side = static_cast<Side>(request.right);
  uint64_t &rows = rows_[request.right];
  auto block =
      std::make_shared<SetBlock>(memory_, side, static_cast<uint32_t>(rows), request.wide != 0,
                                 std::move(piece), request.rows, request.tokens_at, request.token_count);
  rows += request.rows;
  const std::lock_guard lock(mutex_);
  if (finished_) throw_senseless();
  if (state_ == State::joining) blocks_.push_back(std::move(block));
  changed_.notify_all();
}

void ServerJoin::add_block(const Request &request, std::shared_ptr<ServerPiece> piece) {
  constexpr size_t bytes = HostPieces::usual_bytes;
  check_block(request, spec_, rows_, wide_);
  if (incoming_ || request.tokens_at > bytes || request.tokens_at % sizeof(int64_t) != 0 ||
      request.rows > request.tokens_at / sizeof(uint32_t) ||
      request.token_count > (bytes - request.tokens_at) / width_of(request))
    throw_senseless();
  char *data = piece->data();
  HostPiece shared{data, bytes, stay_locked, std::move(piece)};
  check_lengths(shared, request);
  append(std::move(shared), request);
}

void ServerJoin::begin_block(const Request &request) {
  check_block(request, spec_, rows_, wide_);
  constexpr size_t alignment = 64;
  const size_t for_lengths = (request.rows * sizeof(uint32_t) + alignment - 1) / alignment * alignment;
  const size_t for_tokens = request.token_count * width_of(request);
  if (incoming_ || for_lengths + for_tokens > largest_block) throw_senseless();
  incoming_ = std::make_unique<Incoming>(request, for_lengths + for_tokens);
  incoming_->request.tokens_at = for_lengths;
}

// Lengths come first. They end where tokens begin, or before.
void ServerJoin::add_bytes(std::span<const char> bytes) {
  if (!incoming_) throw_senseless();
  const size_t lengths = incoming_->request.rows * sizeof(uint32_t);
  size_t &filled = incoming_->filled;
  while (!bytes.empty()) {
    const size_t room = (filled < lengths ? lengths : incoming_->bytes) - filled;
    if (room == 0) throw_senseless();
    const size_t taken = std::min(room, bytes.size());
    std::memcpy(incoming_->piece.data + filled, bytes.data(), taken);
    bytes = bytes.subspan(taken);
    filled += taken;
    if (filled == lengths) filled = incoming_->request.tokens_at;
  }
  if (filled < incoming_->bytes) return;
  const Request request = incoming_->request;
  check_lengths(incoming_->piece, request);
  HostPiece piece = std::exchange(incoming_->piece, {});
  incoming_.reset();
  append(std::move(piece), request);
}

void ServerJoin::set_ready() {
  const std::lock_guard lock(mutex_);
  ready_ = true;
  changed_.notify_all();
}

void ServerJoin::set_finished() {
  if (incoming_) throw_senseless();
  const std::lock_guard lock(mutex_);
  ready_ = finished_ = true;
  changed_.notify_all();
}

uint32_t ServerJoin::sizes(Side side, uint32_t first_row, uint32_t *out) {
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::done || side > Side::right) return 0;
  }
  const uint64_t rows = rows_[static_cast<size_t>(side)];
  uint32_t count = 0;
  for (uint64_t row = first_row; row < rows && count < most_sizes_sent; ++row)
    out[count++] = engine_->set_size(side, static_cast<uint32_t>(row));
  return count;
}

void ServerJoin::work(Admission::Turn &turn) {
  const bool early = turn.try_early();
  if (!early) {
    wait_for_ready();
    turn.wait(stop_);
  }
  send({Answer::admitted, number_}, {}, &turn);
  engine_ = host_.backend().make_engine(spec_);
  feed(turn, early);
  if (early) turn.wait(stop_);
  hand_over(turn);
}

void ServerJoin::wait_for_ready() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ready_ || stop_.is_set(); });
  stop_.check();
}

// Gives the engine blocks until the last one.
void ServerJoin::feed(Admission::Turn &turn, bool early) {
  for (;;) {
    SharedBlock block;
    {
      std::unique_lock lock(mutex_);
      wait_for_session(
          lock, turn, [this] { return !blocks_.empty() || finished_; }, !early);
      if (blocks_.empty()) return;
      block = std::move(blocks_.front());
      blocks_.pop_front();
    }
    engine_->add_block(std::move(block));
  }
}

void ServerJoin::hand_over(Admission::Turn &turn) {
  Batch batch;
  auto told = std::chrono::steady_clock::now();
  for (;;) {
    stop_.check();
    const StepResult result = engine_->step(longest_step, batch);
    if (result == StepResult::done) break;
    if (result == StepResult::batch) {
      send_pairs(batch, turn);
    } else if (std::chrono::steady_clock::now() - told >= between_progress && has_credit()) {
      send_stats(Answer::progress, turn);
      told = std::chrono::steady_clock::now();
    }
  }
  {
    const std::lock_guard lock(mutex_);
    state_ = State::done;
  }
  host_.count_join();
  send_stats(Answer::done, turn);
}

void ServerJoin::send_pairs(const Batch &batch, Admission::Turn &turn) {
  std::vector<uint32_t> columns;
  for (size_t begin = 0; begin < batch.size(); begin += most_pairs_sent) {
    const size_t count = std::min<size_t>(most_pairs_sent, batch.size() - begin);
    columns.resize(5 * count);
    uint32_t *at = columns.data();
    for (const auto *column : {&batch.left, &batch.right, &batch.overlap})
      at = std::copy_n(column->data() + begin, count, at);
    const Side other = spec_.self_join ? Side::left : Side::right;
    for (size_t i = begin; i < begin + count; ++i) *at++ = engine_->set_size(Side::left, batch.left[i]);
    for (size_t i = begin; i < begin + count; ++i) *at++ = engine_->set_size(other, batch.right[i]);
    send_for_credit({Answer::pairs, number_, static_cast<uint32_t>(count), engine_->share_done()},
                    {reinterpret_cast<const char *>(columns.data()), columns.size() * sizeof(uint32_t)},
                    turn);
  }
}

void ServerJoin::send_stats(Answer answer, Admission::Turn &turn) {
  const JoinStats stats = engine_->stats();
  Packer packer;
  visit_stats(packer, stats);
  const size_t bytes = std::min(packer.bytes().size(), most_payload);
  send_for_credit({answer, number_, 0, engine_->share_done()}, packer.bytes().first(bytes), turn);
}

void ServerJoin::release() noexcept {
  {
    const std::lock_guard lock(mutex_);
    state_ = State::failed;
    blocks_.clear();
  }
  engine_.reset();
}

}  // namespace simjoin
