#include "core/service/served_call.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "core/service/cluster_calls.hpp"
#include "core/service/flyhash_calls.hpp"
#include "core/service/graph_calls.hpp"
#include "core/service/signature_calls.hpp"
#include "core/service/weighted_calls.hpp"

namespace simjoin {
namespace {

// More bytes than any host has.
constexpr uint64_t largest_array = uint64_t{1} << 44;
// Threads that copy to page-locked memory. Two keep up with a GPU, and there are two calls at most.
constexpr int threads_of_call = 4;

CallResult run_function(const Call &call) {
  switch (call.sent.function) {
    case Function::sign:
      return serve_sign(call);
    case Function::hash_bands:
      return serve_hash_bands(call);
    case Function::components:
      return serve_components(call);
    case Function::pagerank:
      return serve_pagerank(call);
    case Function::spectrum:
      return serve_spectrum(call);
    case Function::flyhash:
      return serve_flyhash(call);
    case Function::weighted:
      return serve_weighted(call);
    case Function::clusters:
      return serve_clusters(call);
  }
  throw_senseless();
}

}  // namespace

std::string Call::key(const char *kind, size_t numbers) const {
  std::string key = kind;
  key.append(reinterpret_cast<const char *>(sent.numbers), numbers * sizeof(uint64_t));
  key.append(reinterpret_cast<const char *>(&sent.device_memory), sizeof sent.device_memory);
  return key;
}

ServedCall::ServedCall(ServiceHost &host, std::shared_ptr<MessageSocket> socket, uint32_t number,
                       const SentCall &call)
    : ServedWork(host, std::move(socket), number) {
  announce(call);
}

void ServedCall::announce(const SentCall &call) {
  if (call.count > most_call_arrays) throw_senseless();
  sent_ = call;
  for (size_t i = 0; i < sent_.count; ++i) {
    if (sent_.bytes[i] > largest_array) throw_senseless();
    arrays_.emplace_back(memory_);
  }
  skip_filled();
}

// Only the session of a call that has failed does not know it.
void ServedCall::call_again(const SentCall &call) {
  const std::lock_guard lock(mutex_);
  if (released_) return;
  if (!done_ || call.function != sent_.function) throw_senseless();
  announce(call);
  done_ = false;
  changed_.notify_all();
}

Admission &ServedCall::admission() {
  return sent_.function == Function::clusters ? host_.cluster_admission() : host_.admission();
}

void ServedCall::skip_filled() {
  while (!complete() && arrays_[filling_].size() == sent_.bytes[filling_]) ++filling_;
}

// Memory is taken as bytes come, not as they are announced. If there is none, the call fails and not the
// connection.
void ServedCall::add_bytes(std::span<const char> bytes) {
  const std::lock_guard lock(mutex_);
  if (released_ || out_of_memory_) return;
  if (!admitted_) throw_senseless();
  ++messages_;
  while (!bytes.empty()) {
    if (complete()) throw_senseless();
    Buffer<char> &array = arrays_[filling_];
    const size_t taken = std::min<size_t>(bytes.size(), sent_.bytes[filling_] - array.size());
    try {
      std::copy_n(bytes.data(), taken, array.extend(taken));
    } catch (const std::bad_alloc &) {
      out_of_memory_ = true;
      break;
    }
    bytes = bytes.subspan(taken);
    skip_filled();
  }
  changed_.notify_all();
}

void ServedCall::work(Admission::Turn &turn) {
  std::optional<WorkerPool> pool;
  for (;;) {
    serve(turn, pool);
    turn.leave();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !done_ || stop_.is_set(); });
    stop_.check();
  }
}

void ServedCall::serve(Admission::Turn &turn, std::optional<WorkerPool> &pool) {
  turn.wait(stop_);
  {
    const std::lock_guard lock(mutex_);
    admitted_ = true;
  }
  send({Answer::admitted, number_}, {}, &turn);
  {
    std::unique_lock lock(mutex_);
    while (!complete()) {
      wait_for_session(
          lock, turn, [this, before = messages_] { return messages_ != before; }, false);
      if (out_of_memory_) throw std::bad_alloc();
    }
  }
  // A session that was silent has lost its place, and the call has nothing on the GPU yet.
  if (!turn.has_place()) turn.wait(stop_);
  const auto give = [&](uint32_t array, std::span<const char> bytes) {
    while (!bytes.empty()) {
      const auto part = bytes.first(std::min(bytes.size(), most_payload));
      send_for_credit({Answer::array, number_, array}, part, turn);
      bytes = bytes.subspan(part.size());
    }
  };
  if (!pool) pool.emplace(threads_of_call, stop_);
  const CallResult result = run_function({sent_, arrays_, host_, *pool, memory_, state_, give});
  host_.count_call();
  end_of_call();
  Packer packer;
  visit_result(packer, result);
  send_for_credit({Answer::result, number_}, packer.bytes(), turn);
}

// The next call may come as soon as the session has the result.
void ServedCall::end_of_call() {
  const std::lock_guard lock(mutex_);
  done_ = true;
  admitted_ = false;
  arrays_.clear();
  filling_ = 0;
}

void ServedCall::release() noexcept {
  {
    const std::lock_guard lock(mutex_);
    released_ = true;
    arrays_.clear();
    filling_ = 0;
  }
  state_.reset();
}

}  // namespace simjoin
