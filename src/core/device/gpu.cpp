#include "core/device/gpu.hpp"

#include <atomic>
#include <utility>

#include "core/base/costs.hpp"
#include "core/base/worker_pool.hpp"

namespace simjoin {
namespace {

std::atomic<GpuBackend *> backend{nullptr}, backend_for_joins{nullptr};
std::mutex mutex;  // guards `failure`
std::string failure;
std::atomic<double> missed{0};  // milliseconds

}  // namespace

bool GpuSearch::available(std::string &reason) {
  const std::lock_guard lock(mutex_);
  if (!known_) {
    const SignalsBlocked blocked;  // also in the threads that the device's driver starts
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

std::vector<int> GpuList::get() {
  const std::lock_guard lock(mutex_);
  if (found_.empty()) found_ = look_();
  return found_;
}

GpuBackend *gpu_backend() {
  return backend;
}

GpuBackend *join_backend() {
  return backend_for_joins;
}

void set_gpu_backend(GpuBackend *new_backend, GpuBackend *for_joins) {
  const std::lock_guard lock(mutex);
  backend = new_backend;
  backend_for_joins = for_joins != nullptr ? for_joins : new_backend;
  failure.clear();
  missed = 0;
}

std::string gpu_failure() {
  const std::lock_guard lock(mutex);
  return failure;
}

void give_gpu_up(std::string why) {
  const std::lock_guard lock(mutex);
  failure = std::move(why);
}

double missed_on_gpu() {
  return missed;
}

double miss_on_gpu(double saved_ms, double before_ms) {
  const auto counted = [](double ms) { return ms >= costs::gpu_start_ms / 16 ? ms : 0; };
  missed += counted(before_ms + saved_ms) - counted(before_ms);
  return before_ms + saved_ms;
}

void forget_what_was_missed() {
  missed = 0;
}

std::string no_gpu_reason() {
  if (backend == nullptr) return "this build has no GPU engine";
  const std::string why = gpu_failure();
  if (!why.empty()) return "the GPU failed earlier in this session: " + why;
  return {};
}

}  // namespace simjoin
