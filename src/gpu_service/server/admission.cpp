#include "gpu_service/server/admission.hpp"

#include <algorithm>
#include <chrono>

#include "core/base/error.hpp"

namespace simjoin {
namespace {

constexpr std::chrono::milliseconds between_looks_at_stop{5};

}  // namespace

bool Admission::Turn::try_early() {
  const std::lock_guard lock(admission_.mutex_);
  // Who waits has all its sets, and comes first.
  if (admission_.early_ >= most_early || !admission_.waiting_.empty()) return false;
  ++admission_.early_;
  place_ = Place::early;
  return true;
}

void Admission::Turn::wait(const StopFlag &stop, std::chrono::milliseconds longest) {
  const auto deadline = std::chrono::steady_clock::now() + longest;
  std::unique_lock lock(admission_.mutex_);
  const uint64_t ticket = admission_.tickets_++;
  admission_.waiting_.push_back(ticket);
  const auto has_come = [&] {
    return admission_.waiting_.front() == ticket && admission_.running_ < most_running;
  };
  while (!stop.is_set() && !has_come() && std::chrono::steady_clock::now() < deadline)
    admission_.changed_.wait_for(lock, between_looks_at_stop);
  const bool came = has_come();
  std::erase(admission_.waiting_, ticket);
  admission_.changed_.notify_all();
  stop.check();
  if (!came)
    throw Error(ErrorKind::device_unavailable, "other sessions keep the GPU service busy",
                "Try again later, or set simjoin.device to cpu.");
  if (place_ == Place::early) --admission_.early_;
  ++admission_.running_;
  place_ = Place::running;
}

void Admission::Turn::leave() noexcept {
  const std::lock_guard lock(admission_.mutex_);
  if (place_ == Place::early) --admission_.early_;
  if (place_ == Place::running) --admission_.running_;
  if (place_ != Place::none) left_ = place_;
  place_ = Place::none;
  admission_.changed_.notify_all();
}

void Admission::Turn::come_back() {
  const std::lock_guard lock(admission_.mutex_);
  if (place_ != Place::none) return;
  place_ = left_;
  if (place_ == Place::early) ++admission_.early_;
  if (place_ == Place::running) ++admission_.running_;
}

int Admission::running() const {
  const std::lock_guard lock(mutex_);
  return running_ + early_;
}

int Admission::waiting() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(waiting_.size());
}

}  // namespace simjoin
