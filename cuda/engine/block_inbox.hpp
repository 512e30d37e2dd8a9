// Blocks of sets on their way from the caller of an engine to the engine's thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>

#include "core/sets/set_blocks.hpp"

namespace simjoin::gpu {

class BlockInbox {
 public:
  // push() waits while more than `most_bytes` wait for the thread.
  explicit BlockInbox(size_t most_bytes) : most_bytes_(most_bytes) {}

  // Hands a block over, unless the inbox is closed.
  void push(SharedBlock block);
  // Tells the thread that no more blocks come.
  void end();
  // Tells both sides that the other one is gone.
  void close() noexcept;
  // Returns the next block; null after the last. Waits for it. Throws Cancelled if the inbox is closed.
  SharedBlock pop();

 private:
  const size_t most_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<SharedBlock> blocks_;
  size_t bytes_ = 0;
  bool ended_ = false;
  bool closed_ = false;
};

}  // namespace simjoin::gpu
