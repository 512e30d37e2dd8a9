#include "core/sets/set_blocks.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace simjoin {
namespace {

// The expected size of a row before the first. With short sets, the room for lengths is full first. That
// wastes less than long sets, which fill the room for tokens first.
constexpr double first_row_bytes = 24;
constexpr size_t token_alignment = 64;

}  // namespace

SetBlock::SetBlock(MemoryCounter &memory, Side side, uint32_t first_row, bool wide, uint32_t count,
                   double row_bytes)
    : memory_(memory), side_(side), first_row_(first_row), width_(wide ? sizeof(int64_t) : sizeof(int32_t)) {
  const size_t least = size_t{count} * width_;
  const size_t usual = HostPieces::usual_bytes;
  const double share = sizeof(uint32_t) / std::max(row_bytes, double{sizeof(uint32_t)});
  size_t for_lengths = std::max(token_alignment, static_cast<size_t>(share * static_cast<double>(usual)));
  for_lengths = std::min(for_lengths / token_alignment * token_alignment, usual);
  if (least > usual - for_lengths) for_lengths = token_alignment;
  // The sets of a small join are in its first blocks, and nobody is asked for memory.
  if (first_row > 0) piece_ = HostPieces::of_process().borrow(for_lengths + least);
  if (piece_.data == nullptr) piece_ = HostPieces::of_process().take(for_lengths + least);
  lengths_ = reinterpret_cast<uint32_t *>(piece_.data);
  tokens_ = piece_.data + for_lengths;
  most_rows_ = static_cast<uint32_t>(for_lengths / sizeof(uint32_t));
  most_token_bytes_ = piece_.bytes - for_lengths;
}

SetBlock::SetBlock(MemoryCounter &memory, Side side, uint32_t first_row, bool wide, HostPiece piece,
                   uint32_t rows, size_t tokens_at, uint64_t token_count)
    : memory_(memory),
      side_(side),
      first_row_(first_row),
      width_(wide ? sizeof(int64_t) : sizeof(int32_t)),
      piece_(std::move(piece)),
      lengths_(reinterpret_cast<uint32_t *>(piece_.data)),
      tokens_(piece_.data + tokens_at),
      most_rows_(rows),
      most_token_bytes_(token_count * width_),
      rows_(rows),
      token_bytes_(most_token_bytes_),
      longest_(rows == 0 ? 0 : *std::max_element(lengths_, lengths_ + rows)) {
  close();
}

SetBlock::~SetBlock() {
  HostPieces::of_process().give_back(piece_);
  memory_.sub(counted_);
}

bool SetBlock::append(const void *tokens, uint32_t count) {
  const size_t bytes = count * width_;
  if (rows_ == most_rows_ || bytes > most_token_bytes_ - token_bytes_) return false;
  if (bytes > 0) std::memcpy(tokens_ + token_bytes_, tokens, bytes);
  token_bytes_ += bytes;
  lengths_[rows_++] = count;
  longest_ = std::max(longest_, count);
  return true;
}

void SetBlock::close() {
  counted_ = bytes_used();
  memory_.add(counted_);
}

SetSlice SetBlock::slice(uint32_t first_row, uint32_t rows) const {
  if (rows == rows_) return all();
  const uint32_t skipped = first_row - first_row_;
  const uint64_t before = std::accumulate(lengths_, lengths_ + skipped, uint64_t{0});
  const uint64_t within = std::accumulate(lengths_ + skipped, lengths_ + skipped + rows, uint64_t{0});
  return {tokens_ + before * width_, lengths_ + skipped, rows, within, wide()};
}

void JoinEngine::add_block(SharedBlock block) {
  for_each_set(*block, [&](auto set) { add(block->side(), set); });
}

SharedBlock BlockWriter::append(Side side, const void *tokens, uint32_t count, bool wide) {
  const auto s = static_cast<size_t>(side);
  std::shared_ptr<SetBlock> &open = open_[s];
  // Empty sets have any type: a block may hold nothing else, so its width need not be the join's.
  const bool fits = open && (count == 0 || open->wide() == wide);
  if (fits && open->append(tokens, count)) {
    ++rows_[s];
    return nullptr;
  }
  SharedBlock full;
  double row_bytes = first_row_bytes;
  if (open && open->rows() > 0) {
    row_bytes = static_cast<double>(open->bytes_used()) / open->rows();
    full = take_last(side);
  }
  open = std::make_shared<SetBlock>(memory_, side, rows_[s], wide, count, row_bytes);
  open->append(tokens, count);
  ++rows_[s];
  return full;
}

SharedBlock BlockWriter::take_last(Side side) {
  std::shared_ptr<SetBlock> &open = open_[static_cast<size_t>(side)];
  if (open) open->close();
  return std::move(open);
}

size_t BlockWriter::open_bytes() const {
  size_t bytes = 0;
  for (const auto &block : open_) bytes += block ? block->bytes_used() : 0;
  return bytes;
}

}  // namespace simjoin
