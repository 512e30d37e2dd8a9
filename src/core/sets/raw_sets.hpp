// The sets of a side as they are added: token ids in blocks, which can wait in the temporary file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "core/base/check.hpp"
#include "core/base/memory.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
#include "core/sets/set_sizes.hpp"

namespace simjoin {

// A run of rows, whose ids lie one row after the other.
struct RawBlock {
  explicit RawBlock(MemoryCounter &memory) : ids(memory) {}

  Buffer<uint32_t> ids;  // empty where the block is in the file
  uint32_t first_row = 0;
  uint32_t rows = 0;
  uint64_t tokens = 0;  // ids
  uint64_t place = 0;   // in the file
};

// The sets in the order of their rows, as token ids without duplicates.
class RawSets {
 public:
  // Returns the bytes of a block: a huge page, and less where the memory limit is small. Beside a file each
  // thread may have a block in memory, with what is made of it.
  static constexpr size_t most_block_bytes = huge_page;
  static size_t block_bytes(size_t memory_limit, int threads) {
    return std::clamp(memory_limit / 16 / static_cast<size_t>(threads), size_t{1} << 10, most_block_bytes);
  }
  // Blocks take about `block_bytes`; the first ones, less.
  RawSets(size_t block_bytes, MemoryCounter &memory)
      : sizes(memory), memory_(memory), block_ids_(block_bytes / sizeof(uint32_t)) {}

  uint32_t rows() const { return static_cast<uint32_t>(sizes.size()); }
  uint64_t tokens() const { return tokens_; }
  // Returns the bytes that the sets take in memory where no block is in a file, about.
  size_t bytes() const { return (tokens_ + free_ids()) * sizeof(uint32_t) + sizes.bytes(); }
  // Returns the ids that the last block still has room for.
  size_t free_ids() const { return blocks.empty() ? 0 : blocks.back().ids.size() - blocks.back().tokens; }

  // Returns room for the ids of the next row, `most` at most; then add_row() takes the first ones: as many as
  // the row has distinct tokens, times the ids that stand for a token, which are as many for all tokens.
  uint32_t *room(size_t most) {
    if (blocks.empty() || blocks.back().tokens + most > blocks.back().ids.size()) begin_block(most);
    return blocks.back().ids.data() + blocks.back().tokens;
  }
  void add_row(uint32_t size, uint32_t ids_per_token = 1) {
    const uint64_t ids = uint64_t{size} * ids_per_token;
    RawBlock &block = blocks.back();
    SIMJOIN_CHECK(block.tokens + ids <= block.ids.size());  // room() was called
    block.tokens += ids;
    ++block.rows;
    tokens_ += ids;
    sizes.push_back(size);
  }
  // The same for the next rows, of which one token is one id: room() gave room for the first of them, and
  // free_ids() is no less than the ids of all.
  void add_rows_in_room(std::span<const uint32_t> row_sizes);
  // Adds the next rows, with the ids of one after those of the other.
  void add_rows(Buffer<uint32_t> ids, const Buffer<uint32_t> &row_sizes);

  // Ends the last block: the next row begins another one. Only once there is a file.
  void end_block();
  // Moves all blocks but the last into the file, and from now on each one that is full.
  void spill_to(SpillFile &file);
  // Brings a block's ids back into memory.
  void load(RawBlock &block, const SpillFile &file) const;

  // Ids between looks at the stop flag, and those read at a time.
  static constexpr size_t piece = size_t{1} << 14;
  // Returns ids of a block, which are read into `read` if they are in the file.
  static const uint32_t *ids_of(const RawBlock &block, const SpillFile *file, size_t begin, size_t count,
                                Buffer<uint32_t> &read);
  // Calls visit(ids, count) for all ids, in pieces, of a block that may be in the file.
  template <typename Visit>
  void visit(const RawBlock &block, const SpillFile *file, const StopFlag &stop, Visit &&visit) const;
  // The same for the blocks [begin, end), side by side; the ids that change(ids, count) leaves take their
  // place.
  template <typename Change>
  void change(size_t begin, size_t end, SpillFile *file, WorkerPool &pool, Change &&change);
  // For blocks in memory. write(ids, count, numbers) gives a number of 64 bits for each id. These take the
  // place of the ids, two ids each.
  template <typename Write>
  void widen(Write &&write);
  // The reverse: write(numbers, count, ids) gives one id for each number.
  template <typename Write>
  void narrow(WorkerPool &pool, Write &&write);
  // Returns the sets, and begins anew without any.
  RawSets take();
  // Takes the blocks of other sets behind its own ones, and returns how many it had. give_blocks() gives back
  // those behind the first `kept`. Meanwhile no row may come.
  size_t take_blocks(RawSets &from);
  void give_blocks(size_t kept, RawSets &to);

  std::vector<RawBlock> blocks;
  SetSizes sizes;  // distinct tokens of each row; stays when the blocks are gone

 private:
  void begin_block(size_t most);
  void spill(RawBlock &block);
  void count_tokens();

  MemoryCounter &memory_;
  const size_t block_ids_;
  uint64_t tokens_ = 0;
  SpillFile *file_ = nullptr;
};

// Returns the sides that have sets: in a self-join the left one alone.
inline std::vector<RawSets *> sides_of(RawSets &left, RawSets &right, bool self_join) {
  if (self_join) return {&left};
  return {&left, &right};
}

template <typename Visit>
void RawSets::visit(const RawBlock &block, const SpillFile *file, const StopFlag &stop, Visit &&visit) const {
  Buffer<uint32_t> read(memory_);
  for (size_t begin = 0; begin < block.tokens; begin += piece) {
    stop.check();
    const size_t count = std::min<size_t>(piece, block.tokens - begin);
    visit(ids_of(block, file, begin, count, read), count);
  }
}

template <typename Change>
void RawSets::change(size_t begin, size_t end, SpillFile *file, WorkerPool &pool, Change &&change) {
  pool.parallel(end - begin, [&](int, size_t number) {
    RawBlock &block = blocks[begin + number];
    const bool in_file = block.ids.empty() && block.tokens > 0;
    if (in_file) load(block, *file);
    for (size_t at = 0; at < block.tokens; at += piece) {
      pool.stop().check();
      change(block.ids.data() + at, std::min<size_t>(piece, block.tokens - at));
    }
    if (!in_file) return;
    file->overwrite(block.place, block.ids.data(), block.tokens * sizeof(uint32_t));
    block.ids.release();
  });
}

template <typename Write>
void RawSets::widen(Write &&write) {
  for (RawBlock &block : blocks) {
    Buffer<uint32_t> numbers(memory_, 2 * block.tokens);
    write(static_cast<const uint32_t *>(block.ids.data()), block.tokens,
          reinterpret_cast<uint64_t *>(numbers.data()));
    block.ids = std::move(numbers);
    block.tokens *= 2;
  }
  tokens_ *= 2;
}

template <typename Write>
void RawSets::narrow(WorkerPool &pool, Write &&write) {
  constexpr size_t together = 512;
  pool.parallel(blocks.size(), [&](int, size_t number) {
    RawBlock &block = blocks[number];
    uint32_t *const ids = block.ids.data();
    uint64_t numbers[together];
    block.tokens /= 2;
    for (size_t begin = 0; begin < block.tokens; begin += together) {
      pool.stop().check();
      const size_t count = std::min<size_t>(together, block.tokens - begin);
      std::memcpy(numbers, ids + 2 * begin, count * sizeof(uint64_t));
      write(static_cast<const uint64_t *>(numbers), count, ids + begin);
    }
    block.ids.resize(block.tokens);
    block.ids.shrink();
  });
  tokens_ /= 2;
}

}  // namespace simjoin
