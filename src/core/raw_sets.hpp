// The sets of a side as they are added: token ids in blocks, which can wait in the temporary file.
#pragma once

#include <cstdint>
#include <vector>

#include "core/memory.hpp"
#include "core/set_sizes.hpp"
#include "core/spill_file.hpp"

namespace simjoin {

// A run of rows, whose ids lie one row after the other.
struct RawBlock {
  explicit RawBlock(MemoryCounter &memory) : ids(memory) {}

  Buffer<uint32_t> ids;  // empty where the block is in the file
  uint32_t first_row = 0;
  uint32_t rows = 0;
  uint64_t tokens = 0;
  uint64_t place = 0;  // in the file
};

// The sets in the order of their rows, as token ids without duplicates.
class RawSets {
 public:
  // Blocks take about `block_bytes`; the first ones, less.
  RawSets(size_t block_bytes, MemoryCounter &memory)
      : sizes(memory), memory_(memory), block_ids_(block_bytes / sizeof(uint32_t)) {}

  uint32_t rows() const { return static_cast<uint32_t>(sizes.size()); }
  uint64_t tokens() const { return tokens_; }

  // Returns room for the ids of the next row, `most` at most; then add_row() takes the first `size` of them.
  uint32_t *room(size_t most);
  void add_row(uint32_t size);

  // Moves all blocks but the last into the file, and from now on each one that is full.
  void spill_to(SpillFile &file);
  // Brings a block's ids back into memory.
  void load(RawBlock &block, const SpillFile &file) const;

  std::vector<RawBlock> blocks;
  SetSizes sizes;  // distinct tokens of each row; stays when the blocks are gone

 private:
  void spill(RawBlock &block);

  MemoryCounter &memory_;
  const size_t block_ids_;
  uint64_t tokens_ = 0;
  SpillFile *file_ = nullptr;
};

}  // namespace simjoin
