// Errors of the core: every failure a caller can act on carries its kind, and a hint where there is one.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace simjoin {

enum class ErrorKind {
  invalid_argument,
  limit_exceeded,         // of a design, or of device memory
  memory_limit_exceeded,  // of memory, where there is no way around it
  file_limit_exceeded,    // of the temporary file
  disk_full,
  io_failure,
  device_unavailable,  // for now: another try may find the GPU
  device_failure,
  no_threads,  // the system gives no more
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
