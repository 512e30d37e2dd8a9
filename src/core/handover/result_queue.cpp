#include "core/handover/result_queue.hpp"

#include <utility>

#include "core/base/check.hpp"

namespace simjoin {

void ResultQueue::push(Batch &batch) {
  {
    std::unique_lock lock(mutex_);
    not_full_.wait(lock, [this] { return capacity_ == 0 || batches_.size() < capacity_ || stop_.is_set(); });
    stop_.check();
    SIMJOIN_CHECK(!finished_);
    batches_.push_back(std::move(batch));
    ++pushed_;
    batch = Batch();
    if (!spare_.empty()) {
      batch = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  not_empty_.notify_one();
}

bool ResultQueue::pop(Batch &out, std::chrono::microseconds wait) {
  std::unique_lock lock(mutex_);
  if (looked_at_ != taken_) {
    looked_at_ = taken_;
    settled_.notify_all();
  }
  const auto ready = [this] { return !batches_.empty() || finished_; };
  if (!ready() && wait.count() > 0) not_empty_.wait_for(lock, wait, ready);
  if (batches_.empty()) return false;
  out.clear();
  std::swap(out, batches_.front());
  spare_.push_back(std::move(batches_.front()));
  batches_.pop_front();
  ++taken_;
  lock.unlock();
  not_full_.notify_one();
  return true;
}

void ResultQueue::settle() {
  SIMJOIN_CHECK(bounded());  // within the caller's thread this would wait for ever
  std::unique_lock lock(mutex_);
  settled_.wait(lock, [this, pushed = pushed_] { return looked_at_ >= pushed || stop_.is_set(); });
  stop_.check();
}

void ResultQueue::finish() {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  not_empty_.notify_all();
}

void ResultQueue::wake() {
  const std::lock_guard lock(mutex_);
  not_full_.notify_all();
  settled_.notify_all();
}

bool ResultQueue::drained() const {
  const std::lock_guard lock(mutex_);
  return finished_ && batches_.empty();
}

void ResultWriter::flush() {
  if (batch_.size() == 0) return;
  queue_.push(batch_);
}

void ResultWriter::settle() {
  flush();
  queue_.settle();
}

}  // namespace simjoin
