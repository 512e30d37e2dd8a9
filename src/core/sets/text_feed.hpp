// Sets of texts on their way to sets of numbers, on threads beside the caller.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/packed_texts.hpp"
#include "core/base/worker_pool.hpp"
#include "core/join.hpp"
#include "core/sets/numbered_sets.hpp"
#include "core/sets/text_numbers.hpp"

namespace simjoin {

// Rows are copied into blocks. Threads number the blocks, and start as there are more blocks than they keep
// up with. If blocks pile up nevertheless, the caller numbers one. Blocks come back in the order in which
// they were submitted, so those that are done behind one that takes long are bounded, too: the caller waits.
class TextFeed {
 public:
  // Uses up to `threads` threads, the caller's included, and a part of `memory_limit` for blocks.
  TextFeed(int threads, size_t memory_limit, MemoryCounter &memory, const NumberedForm &form = {});
  ~TextFeed();
  TextFeed(const TextFeed &) = delete;
  TextFeed &operator=(const TextFeed &) = delete;

  // Adds the next row of a side.
  void add(Side side, const PackedTexts &set);
  // Returns whether there are enough rows to submit them.
  bool full() const { return full_; }
  // Begins to number the rows added since the last call. The numbers live until take() has returned the rows.
  void submit(TextNumbers &texts);
  using Time = std::chrono::steady_clock::time_point;
  static constexpr Time at_once = Time::min(), ever = Time::max();
  // Returns the next rows. Waits for them until a time, and returns null if they are not numbered then, or if
  // none were submitted that have not been returned. Rethrows what went wrong with them.
  std::unique_ptr<NumberedSets> take(Time until);
  // Returns whether take() has returned all rows submitted.
  bool all_taken();
  // Returns how many texts have been added to rows that take() has not returned.
  uint64_t pending_texts() const { return pending_texts_; }

 private:
  struct Block {
    Block(Side side, MemoryCounter &memory) : rows(side, memory), numbered(memory) {}

    TextRows rows;
    TextNumbers *numbers = nullptr;
    uint64_t work = 0;  // see TextNumbers::begin_work
    bool done = false;
    NumberedSets numbered;  // once it is done
    std::exception_ptr failure;
  };
  using Lock = std::unique_lock<std::mutex>;

  char *add_row(Side side, size_t bytes, size_t texts);
  void number_next(Lock &lock, const StopFlag *stop);
  bool too_many_wait() const;
  bool takes_long() const;
  void wake_thread();
  void wait_for_one(Lock &lock);
  void serve();

  const int threads_;
  const size_t block_bytes_;
  const size_t most_waiting_;  // blocks of this size
  const size_t most_blocks_;   // submitted and not taken, also those that are done
  MemoryCounter &memory_;
  const NumberedForm form_;
  StopFlag stop_;
  std::unique_ptr<Block> open_[2];  // by side
  bool full_ = false;
  uint64_t pending_texts_ = 0;

  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::condition_variable one_done_;
  std::deque<std::unique_ptr<Block>> blocks_;  // submitted, in their order
  size_t begun_ = 0;                           // the first of these
  size_t waiting_bytes_ = 0;                   // of texts of the others
  std::vector<Buffer<char>> spare_;            // memory of blocks that are done
  int idle_ = 0;                               // threads
  bool may_start_ = true;
  bool quit_ = false;
  std::vector<std::thread> running_;
};

}  // namespace simjoin
