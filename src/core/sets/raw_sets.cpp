#include "core/sets/raw_sets.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "core/base/check.hpp"

namespace simjoin {
namespace {

// A block holds at least this many ids. The first blocks hold at most one part in so many of the ids before
// them, so that what is free in the last one is little.
constexpr size_t least_block_ids = 1024;
constexpr size_t before_block = 4;

}  // namespace

// Begins a block that has room for a row of so many ids.
void RawSets::begin_block(size_t most) {
  if (file_ != nullptr) end_block();
  const size_t usual =
      std::min(std::max(least_block_ids, static_cast<size_t>(tokens_) / before_block), block_ids_);
  RawBlock &block = blocks.emplace_back(memory_);
  block.first_row = rows();
  block.ids.resize(std::max(usual, most));
}

void RawSets::add_rows_in_room(std::span<const uint32_t> row_sizes) {
  RawBlock &block = blocks.back();
  uint64_t ids = 0;
  for (const uint32_t size : row_sizes) {
    ids += size;
    sizes.push_back(size);
  }
  SIMJOIN_CHECK(ids <= free_ids());
  block.tokens += ids;
  block.rows += static_cast<uint32_t>(row_sizes.size());
  tokens_ += ids;
}

void RawSets::add_rows(Buffer<uint32_t> ids, const Buffer<uint32_t> &row_sizes) {
  if (file_ != nullptr) {
    // Blocks of the file's size, which are read at once.
    const uint32_t *from = ids.data();
    for (const uint32_t size : row_sizes) {
      std::copy_n(from, size, room(size));
      add_row(size);
      from += size;
    }
    return;
  }
  RawBlock &block = blocks.emplace_back(memory_);
  block.first_row = rows();
  block.rows = static_cast<uint32_t>(row_sizes.size());
  block.tokens = ids.size();
  block.ids = std::move(ids);
  tokens_ += block.tokens;
  for (const uint32_t size : row_sizes) sizes.push_back(size);
}

RawSets RawSets::take() {
  RawSets taken(block_ids_ * sizeof(uint32_t), memory_);
  std::swap(taken.blocks, blocks);
  std::swap(taken.sizes, sizes);
  std::swap(taken.tokens_, tokens_);
  return taken;
}

size_t RawSets::take_blocks(RawSets &from) {
  const size_t had = blocks.size();
  std::move(from.blocks.begin(), from.blocks.end(), std::back_inserter(blocks));
  from.blocks.clear();
  count_tokens();
  from.count_tokens();
  return had;
}

void RawSets::give_blocks(size_t kept, RawSets &to) {
  const auto first = blocks.begin() + static_cast<std::ptrdiff_t>(kept);
  std::move(first, blocks.end(), std::back_inserter(to.blocks));
  blocks.erase(first, blocks.end());
  count_tokens();
  to.count_tokens();
}

void RawSets::count_tokens() {
  tokens_ = 0;
  for (const RawBlock &block : blocks) tokens_ += block.tokens;
}

void RawSets::end_block() {
  SIMJOIN_CHECK(file_ != nullptr);
  if (!blocks.empty() && !blocks.back().ids.empty()) spill(blocks.back());
}

void RawSets::spill_to(SpillFile &file) {
  SIMJOIN_CHECK(file_ == nullptr);
  file_ = &file;
  for (size_t i = 0; i + 1 < blocks.size(); ++i) spill(blocks[i]);
}

void RawSets::spill(RawBlock &block) {
  const size_t bytes = block.tokens * sizeof(uint32_t);
  block.place = file_->reserve(bytes);
  file_->write(block.place, block.ids.data(), bytes);
  block.ids.release();
}

const uint32_t *RawSets::ids_of(const RawBlock &block, const SpillFile *file, size_t begin, size_t count,
                                Buffer<uint32_t> &read) {
  SIMJOIN_CHECK(begin + count <= block.tokens);
  if (!block.ids.empty()) return block.ids.data() + begin;
  read.resize(count);
  file->read(block.place + begin * sizeof(uint32_t), read.data(), count * sizeof(uint32_t));
  return read.data();
}

void RawSets::load(RawBlock &block, const SpillFile &file) const {
  if (!block.ids.empty() || block.tokens == 0) return;
  block.ids.resize(block.tokens);
  file.read(block.place, block.ids.data(), block.tokens * sizeof(uint32_t));
}

}  // namespace simjoin
