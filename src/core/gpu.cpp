#include "core/gpu.hpp"

#include <utility>

#include "core/worker_pool.hpp"

namespace simjoin {
namespace {

GpuBackend *backend = nullptr;
std::string failure;

}  // namespace

bool GpuSearch::available(std::string &reason) {
  const std::lock_guard lock(mutex_);
  if (!known_) {
    const SignalsBlocked blocked;  // in threads that the device's driver starts
    found_ = look_();
  }
  known_ = true;
  reason = found_.reason;
  return found_.usable;
}

void GpuSearch::look_again() {
  const std::lock_guard lock(mutex_);
  known_ = known_ && found_.lasting;
}

void GpuSearch::forget() {
  const std::lock_guard lock(mutex_);
  known_ = false;
}

GpuBackend *gpu_backend() {
  return backend;
}

void set_gpu_backend(GpuBackend *new_backend) {
  backend = new_backend;
  failure.clear();
}

const std::string &gpu_failure() {
  return failure;
}

void give_gpu_up(std::string why) {
  failure = std::move(why);
}

std::string no_gpu_reason() {
  if (backend == nullptr) return "this build has no GPU engine";
  if (!failure.empty()) return "the GPU failed earlier in this session: " + failure;
  return {};
}

}  // namespace simjoin
