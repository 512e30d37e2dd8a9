// A session's call of a function of the service's GPU: arrays in, arrays out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/service/service_work.hpp"

namespace simjoin {

// Returns a connection that works, and throws Error device_unavailable if there is none.
using Connect = std::function<std::shared_ptr<ServiceConnection>()>;

// Calls a function once its inputs are given. Throws Error as ServiceWork does, and Cancelled soon after the
// stop flag is set: the service gives the call up, too. After clear() and with other inputs the function may
// be called again, and goes on with what it has set up.
class ServiceCall {
 public:
  ServiceCall(const Connect &connect, Function function, size_t device_memory);

  // Both add to what the function is told. An array stays where it is until run() returns.
  ServiceCall &number(uint64_t value);
  template <class T>
  ServiceCall &input(std::span<const T> array) {
    return input_bytes({reinterpret_cast<const char *>(array.data()), array.size_bytes()});
  }
  template <class T>
  ServiceCall &input(const Buffer<T> &array) {
    return input(std::span<const T>(array.data(), array.size()));
  }
  // All say where the next array of the result goes. It has exactly `size` elements, or `most` at most, or
  // its bytes go to a function as they come, which returns false if they make no sense.
  template <class T>
  ServiceCall &output(T *to, size_t size) {
    outputs_.push_back({[to](std::span<const char> bytes, size_t offset) {
                          std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char *>(to) + offset);
                          return true;
                        },
                        size * sizeof(T), size * sizeof(T), sizeof(T)});
    return *this;
  }
  template <class T>
  ServiceCall &output(Buffer<T> &to, size_t most) {
    const auto put = [&to](std::span<const char> bytes, size_t offset) {
      to.reserve((offset + bytes.size() + sizeof(T) - 1) / sizeof(T));
      to.resize((offset + bytes.size()) / sizeof(T));
      std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char *>(to.data()) + offset);
      return true;
    };
    outputs_.push_back({put, 0, most * sizeof(T), sizeof(T)});
    return *this;
  }
  ServiceCall &output(std::function<bool(std::span<const char> bytes)> take) {
    const auto put = [take = std::move(take)](std::span<const char> bytes, size_t) { return take(bytes); };
    outputs_.push_back({put, 0, SIZE_MAX, 1});
    return *this;
  }

  CallResult run(const StopFlag &stop);
  void clear();
  // Throws: the result makes no sense.
  [[noreturn]] void throw_ended() const { work_.throw_ended(); }

 private:
  using Received = ServiceWork::Received;

  struct Output {
    // Takes bytes of the array, of which so many have come.
    std::function<bool(std::span<const char> bytes, size_t offset)> put;
    size_t least, most, element;  // bytes
    size_t filled = 0;
  };

  ServiceCall &input_bytes(std::span<const char> bytes);
  bool send_inputs();
  void take_array(const Received &received);
  CallResult take_result(const Received &received) const;

  ServiceWork work_;
  SentCall sent_;
  int credits_ = 0;  // that the service has
  size_t numbers_ = 0;
  std::vector<std::span<const char>> inputs_;
  size_t inputs_sent_ = 0, bytes_sent_ = 0;
  std::vector<Output> outputs_;
};

}  // namespace simjoin
