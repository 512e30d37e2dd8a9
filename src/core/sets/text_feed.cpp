#include "core/sets/text_feed.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/interruption.hpp"
#include "core/base/thread_budget.hpp"

namespace simjoin {
namespace {

// A block takes a thread about a millisecond. The blocks that wait take a small part of the memory limit,
// since each of their texts may be a new one, which takes ten times as much.
constexpr size_t most_block_bytes = size_t{256} << 10;
constexpr size_t least_block_bytes = size_t{4} << 10;
constexpr size_t most_waiting = 16;
constexpr size_t waiting_per_limit = 128;
// One thread that copies rows keeps about this many busy (sets of 88 texts of 6 characters, Cascade Lake).
constexpr int most_threads = 12;
constexpr std::chrono::milliseconds longest_wait{10};  // between two checks whether the caller gives up
constexpr size_t row_bytes = sizeof(uint32_t) + sizeof(size_t);  // beside its texts

}  // namespace

TextFeed::TextFeed(int threads, size_t memory_limit, MemoryCounter &memory, const NumberedForm &form)
    : threads_(std::clamp(threads - 1, 0, most_threads)),
      block_bytes_(std::clamp(memory_limit / waiting_per_limit / 4, least_block_bytes, most_block_bytes)),
      most_waiting_(std::clamp<size_t>(memory_limit / waiting_per_limit / block_bytes_, 1, most_waiting)),
      most_blocks_(2 * (most_waiting_ + static_cast<size_t>(threads_) + 1)),
      memory_(memory),
      form_(form) {
  // Then adding to them cannot fail, with a thread just started, or within one.
  running_.reserve(static_cast<size_t>(threads_));
  spare_.reserve(most_waiting_);
}

TextFeed::~TextFeed() {
  stop_.set();
  {
    const Lock lock(mutex_);
    quit_ = true;
  }
  wake_.notify_all();
  for (std::thread &thread : running_) thread.join();
  give_back_threads(static_cast<int>(running_.size()));
}

// Returns the place for the packed texts of the side's next row.
char *TextFeed::add_row(Side side, size_t bytes, size_t texts) {
  std::unique_ptr<Block> &open = open_[static_cast<size_t>(side)];
  if (!open) {
    open = std::make_unique<Block>(side, memory_);
    const Lock lock(mutex_);
    if (!spare_.empty()) {
      open->rows.bytes = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  TextRows &rows = open->rows;
  char *const to = rows.add(bytes, texts);
  pending_texts_ += texts;
  full_ |= rows.bytes.size() + rows.counts.size() * row_bytes >= block_bytes_;
  return to;
}

void TextFeed::add(Side side, const PackedTexts &set) {
  char *const to = add_row(side, set.size, set.count);
  copy_interruptibly(to, set.bytes, set.size);
}

void TextFeed::submit(TextNumbers &texts) {
  const bool more_to_come = std::exchange(full_, false);
  Lock lock(mutex_);
  for (std::unique_ptr<Block> &open : open_) {
    if (!open) continue;
    open->numbers = &texts;
    const size_t bytes = open->rows.bytes.size();
    blocks_.push_back(std::move(open));
    waiting_bytes_ += bytes;
    if (more_to_come) wake_thread();
  }
  while (too_many_wait() || (running_.empty() && begun_ < blocks_.size())) number_next(lock, nullptr);
  while (blocks_.size() > most_blocks_ && !blocks_.front()->done) {
    if (begun_ < blocks_.size()) {
      number_next(lock, nullptr);
    } else {
      wait_for_one(lock);
    }
  }
}

// Waits a while for a block that another thread numbers, which takes long if it has a long row.
void TextFeed::wait_for_one(Lock &lock) {
  one_done_.wait_for(lock, longest_wait);
  check_interruption();
}

// A block larger than usual, of one long row, may wait alone.
bool TextFeed::too_many_wait() const {
  return blocks_.size() - begun_ > 1 && waiting_bytes_ > most_waiting_ * block_bytes_;
}

// Wakes a thread for a block, or starts one if all are busy.
void TextFeed::wake_thread() {
  if (idle_ > 0) {
    wake_.notify_one();
    return;
  }
  if (!may_start_ || static_cast<int>(running_.size()) == threads_) return;
  may_start_ = take_threads(1) == 1;
  if (!may_start_) return;
  try {
    running_.push_back(start_thread([this] { serve(); }));
  } catch (const std::exception &) {
    // The system gives no more threads: those that there are, and the caller, do the work.
    give_back_threads(1);
    may_start_ = false;
  }
}

// Returns whether the next block is a row so long that the caller would not look at the time for long.
bool TextFeed::takes_long() const {
  return blocks_[begun_]->rows.bytes.size() > 2 * block_bytes_;
}

bool TextFeed::all_taken() {
  const Lock lock(mutex_);
  return blocks_.empty();
}

std::unique_ptr<NumberedSets> TextFeed::take(Time until) {
  Lock lock(mutex_);
  if (blocks_.empty()) return nullptr;
  while (!blocks_.front()->done) {
    if (until == at_once || (until != ever && std::chrono::steady_clock::now() >= until)) return nullptr;
    if (begun_ < blocks_.size() && (running_.empty() || !takes_long())) {
      number_next(lock, nullptr);
    } else if (until == ever) {
      wait_for_one(lock);
    } else {
      one_done_.wait_until(lock, until);
    }
  }
  const std::unique_ptr<Block> block = std::move(blocks_.front());
  blocks_.pop_front();
  --begun_;
  lock.unlock();
  if (block->failure) std::rethrow_exception(block->failure);
  block->numbers->release_unused(block->work);
  pending_texts_ -= block->rows.texts;
  return std::make_unique<NumberedSets>(std::move(block->numbered));
}

// Numbers the first block that waits. Releases the lock meanwhile. The flag is as for number_rows().
void TextFeed::number_next(Lock &lock, const StopFlag *stop) {
  Block &block = *blocks_[begun_++];
  waiting_bytes_ -= block.rows.bytes.size();
  block.work = block.numbers->begin_work();
  lock.unlock();
  try {
    number_rows(block.rows, form_, *block.numbers, stop, block.numbered);
  } catch (...) {
    block.failure = std::current_exception();
  }
  block.numbers->end_work();
  lock.lock();
  block.done = true;
  if (block.rows.bytes.size() <= 2 * block_bytes_ && spare_.size() < most_waiting_) {
    spare_.push_back(std::move(block.rows.bytes));
    spare_.back().clear();
  } else {
    block.rows.bytes.release();
  }
  one_done_.notify_one();
}

void TextFeed::serve() {
  Lock lock(mutex_);
  while (!quit_) {
    if (begun_ < blocks_.size()) {
      number_next(lock, &stop_);
      continue;
    }
    ++idle_;
    wake_.wait(lock, [this] { return quit_ || begun_ < blocks_.size(); });
    --idle_;
  }
}

}  // namespace simjoin
