#include "core/service/service_call.hpp"

#include <algorithm>
#include <chrono>

#include "core/base/error.hpp"

namespace simjoin {
namespace {

constexpr std::chrono::milliseconds between_looks_at_stop{10};

}  // namespace

ServiceCall::ServiceCall(const Connect &connect, Function function, size_t device_memory) : work_(connect()) {
  sent_.function = function;
  sent_.device_memory = device_memory;
}

ServiceCall &ServiceCall::number(uint64_t value) {
  sent_.numbers[numbers_++] = value;
  return *this;
}

ServiceCall &ServiceCall::input_bytes(std::span<const char> bytes) {
  sent_.bytes[sent_.count++] = bytes.size();
  inputs_.push_back(bytes);
  return *this;
}

CallResult ServiceCall::run(const StopFlag &stop) {
  work_.post(Ask::call, bytes_of(sent_));
  for (; credits_ < ServiceWork::most_credits; ++credits_) work_.post(Ask::credit);
  bool admitted = false, all_sent = false;
  for (;;) {
    stop.check();
    if (admitted && !all_sent) all_sent = send_inputs();
    const std::optional<Received> received = work_.next();
    if (!received) {
      work_.wait(ServiceWork::Clock::now() + between_looks_at_stop, admitted && !all_sent, &stop);
      continue;
    }
    switch (received->reply.answer) {
      case Answer::admitted:
        admitted = true;
        break;
      case Answer::array:
        take_array(*received);
        work_.post(Ask::credit);
        break;
      case Answer::result:
        --credits_;
        return take_result(*received);
      default:
        work_.throw_ended();
    }
  }
}

void ServiceCall::clear() {
  sent_ = {sent_.function, 0, sent_.device_memory, {}, {}};
  numbers_ = inputs_sent_ = bytes_sent_ = 0;
  inputs_.clear();
  outputs_.clear();
}

// Sends arrays as far as there is room. Returns whether all have gone.
bool ServiceCall::send_inputs() {
  for (; inputs_sent_ < inputs_.size(); ++inputs_sent_, bytes_sent_ = 0) {
    const std::span<const char> bytes = inputs_[inputs_sent_];
    if (!work_.send_bytes(bytes.data(), bytes.size(), bytes_sent_)) return false;
  }
  return true;
}

void ServiceCall::take_array(const Received &received) {
  const std::vector<char> &bytes = received.payload;
  if (received.reply.count >= outputs_.size()) work_.throw_ended();
  Output &output = outputs_[received.reply.count];
  if (bytes.size() > output.most - output.filled || !output.put(bytes, output.filled)) work_.throw_ended();
  output.filled += bytes.size();
}

CallResult ServiceCall::take_result(const Received &received) const {
  CallResult result;
  Unpacker unpack(received.payload);
  visit_result(unpack, result);
  const auto whole = [](const Output &output) {
    return output.filled >= output.least && output.filled % output.element == 0;
  };
  if (!unpack.complete || !std::all_of(outputs_.begin(), outputs_.end(), whole)) work_.throw_ended();
  return result;
}

}  // namespace simjoin
