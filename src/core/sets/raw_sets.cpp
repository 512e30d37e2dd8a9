#include "core/sets/raw_sets.hpp"

#include <algorithm>
#include <utility>

namespace simjoin {
namespace {

// A block holds at least this many ids. The first blocks hold at most as many as came before them, so that a
// small join takes little memory.
constexpr size_t least_block_ids = 1024;

}  // namespace

uint32_t *RawSets::room(size_t most) {
  if (blocks.empty() || blocks.back().tokens + most > blocks.back().ids.size()) {
    if (file_ != nullptr) end_block();
    const size_t usual = std::min(std::max(least_block_ids, static_cast<size_t>(tokens_)), block_ids_);
    RawBlock &block = blocks.emplace_back(memory_);
    block.first_row = rows();
    block.ids.resize(std::max(usual, most));
  }
  return blocks.back().ids.data() + blocks.back().tokens;
}

void RawSets::add_row(uint32_t size, uint32_t ids_per_token) {
  const uint64_t ids = uint64_t{size} * ids_per_token;
  RawBlock &block = blocks.back();
  block.tokens += ids;
  ++block.rows;
  tokens_ += ids;
  sizes.push_back(size);
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

void RawSets::end_block() {
  if (!blocks.empty() && !blocks.back().ids.empty()) spill(blocks.back());
}

void RawSets::spill_to(SpillFile &file) {
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
