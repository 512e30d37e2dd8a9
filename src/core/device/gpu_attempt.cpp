#include "core/device/gpu_attempt.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/costs.hpp"

namespace simjoin {

std::string told_reason(const std::string &refused) {
  if (refused != cpu_is_faster || gpu_backend() == nullptr || gpu_backend()->has_driver()) return refused;
  return no_gpu_driver;
}

void throw_no_gpu(const std::string &reason) {
  throw Error(ErrorKind::device_failure, "a GPU cannot be used: " + reason, no_gpu_hint);
}

// Computations that would each save less than a start takes do so together.
bool pays_for_gpu_start(double saved_ms, const GpuBackend &backend) {
  return saved_ms > 0 && (saved_ms > costs::gpu_start_ms - missed_on_gpu() || backend.started());
}

bool GpuStart::is_done(std::chrono::microseconds wait) {
  if (join_backend()->started()) return true;
  if (!task_) {
    task_ = std::make_unique<BackgroundTask>(1, [this](WorkerPool &) {
      try {
        join_backend()->set_up();
      } catch (const Error &) {
        failure_ = std::current_exception();
      }
      forget_what_was_missed();
    });
  }
  return task_->wait(wait);
}

std::unique_ptr<Notice> notice_of_gpu(const Error &error) {
  const auto because = [&](Notice::Cause cause) {
    return std::make_unique<Notice>(Notice{cause, error.what()});
  };
  switch (error.kind()) {
    case ErrorKind::limit_exceeded:
      return because(Notice::Cause::too_large);
    case ErrorKind::device_unavailable:
      return because(Notice::Cause::unavailable);
    case ErrorKind::device_failure:
      give_gpu_up(error.what());
      return because(Notice::Cause::failed);
    default:
      return nullptr;
  }
}

void GpuStart::check() {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

bool GpuAttempt::choose(double cpu_ms, double gpu_ms, double bytes) {
  chosen_ = false;
  if (failed() || device_ == Device::cpu) return false;
  std::string reason = no_gpu_reason();
  if (device_ == Device::gpu) {
    if (!reason.empty() || !backend_()->available(reason)) throw_no_gpu(reason);
  } else if (reason.empty()) {
    reason = reason_against(cpu_ms, gpu_ms, bytes);
  }
  if (!reason.empty()) {
    refuse(std::move(reason));
    return false;
  }
  return chosen_ = true;
}

// Returns why Device::automatic leaves the next part to the CPU; empty if it does not.
std::string GpuAttempt::reason_against(double cpu_ms, double gpu_ms, double bytes) {
  GpuBackend &backend = *backend_();
  const auto pays = [&](const GpuSlowdown &slowdown) {
    const double saved = cpu_ms - gpu_ms * slowdown.work - bytes * slowdown.byte_ns * 1e-6;
    if (pays_for_gpu_start(saved, backend)) return true;
    if (saved > 0) missed_ms_ = miss_on_gpu(saved, missed_ms_);
    return false;
  };
  if (!pays({})) return cpu_is_faster;  // no GPU is looked for if the fastest would not pay
  std::string reason;
  if (backend.available(reason) && !pays(backend.slowdown())) reason = cpu_is_faster;
  forget_what_was_missed();
  return reason;
}

void GpuAttempt::refuse(std::string reason) {
  chosen_ = false;
  const std::lock_guard lock(mutex_);
  outcome_.refused = std::move(reason);
}

bool GpuAttempt::failed() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

// Returns whether the part that begins runs on the GPU.
bool GpuAttempt::begin() {
  const std::lock_guard lock(mutex_);
  outcome_.gpu |= chosen_;
  return chosen_;
}

bool GpuAttempt::leave_gpu(const Error &error) {
  std::unique_ptr<Notice> notice = notice_of_gpu(error);
  if (!notice || device_ == Device::gpu) return false;
  refuse(error.what());
  const std::lock_guard lock(mutex_);
  failed_ = true;
  notice_ = std::move(notice);
  return true;
}

std::unique_ptr<Notice> GpuAttempt::take_notice() {
  const std::lock_guard lock(mutex_);
  return std::move(notice_);
}

DeviceOutcome GpuAttempt::outcome() const {
  const std::lock_guard lock(mutex_);
  return outcome_;
}

}  // namespace simjoin
