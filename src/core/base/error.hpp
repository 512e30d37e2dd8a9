// Errors of the core: every failure that a caller can act on carries its kind and, if possible, a hint.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace simjoin {

enum class ErrorKind {
  invalid_argument,
  limit_exceeded,         // of the design, or of device memory
  memory_limit_exceeded,  // the computation has no way to need less
  file_limit_exceeded,    // of the temporary file
  disk_full,
  io_failure,
  device_unavailable,  // another try may find the GPU
  device_failure,
  no_threads,  // the system gives no more threads
  internal
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string &message, std::string hint = {})
      : std::runtime_error(message), kind_(kind), hint_(std::move(hint)) {}

  ErrorKind kind() const noexcept { return kind_; }
  const std::string &hint() const noexcept { return hint_; }

 private:
  ErrorKind kind_;
  std::string hint_;
};

}  // namespace simjoin
