#include "cuda/engine/block_inbox.hpp"

#include <utility>

#include "core/base/check.hpp"
#include "core/base/worker_pool.hpp"

namespace simjoin::gpu {

void BlockInbox::push(SharedBlock block) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return closed_ || bytes_ <= most_bytes_; });
  if (closed_) return;
  SIMJOIN_CHECK(!ended_);
  bytes_ += block->bytes_used();
  blocks_.push_back(std::move(block));
  changed_.notify_all();
}

void BlockInbox::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void BlockInbox::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

SharedBlock BlockInbox::pop() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return closed_ || ended_ || !blocks_.empty(); });
  if (closed_) throw Cancelled();
  if (blocks_.empty()) return nullptr;
  SharedBlock block = std::move(blocks_.front());
  blocks_.pop_front();
  bytes_ -= block->bytes_used();
  changed_.notify_all();
  return block;
}

}  // namespace simjoin::gpu
