#include "core/sets/set_blocks.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/base/check.hpp"

namespace simjoin {
namespace {

// The expected size of a row before the first. With short sets, the room for lengths is full first. That
// wastes less than long sets, which fill the room for tokens first.
constexpr double first_row_bytes = 24;
constexpr size_t token_alignment = 64;
// From so many bytes of complete blocks on, the next ones are large.
constexpr size_t bytes_of_large_join = size_t{2} << 30;

}  // namespace

SetBlock::SetBlock(MemoryCounter &memory, Side side, uint32_t first_row, bool wide, uint32_t count,
                   double row_bytes, PiecesAhead *ahead)
    : memory_(memory), side_(side), first_row_(first_row), width_(wide ? sizeof(int64_t) : sizeof(int32_t)) {
  const size_t for_tokens = size_t{count} * width_, least = token_alignment + for_tokens;
  // The sets of a small join are in its first blocks, and nobody is asked for memory.
  if (first_row > 0) piece_ = HostPieces::of_process().borrow(least);
  if (piece_.data == nullptr) piece_ = ahead ? ahead->take(least) : HostPieces::of_process().take(least);
  const double share = sizeof(uint32_t) / std::max(row_bytes, double{sizeof(uint32_t)});
  size_t for_lengths =
      std::max(token_alignment, static_cast<size_t>(share * static_cast<double>(piece_.bytes)));
  for_lengths = for_lengths / token_alignment * token_alignment;
  if (for_tokens > piece_.bytes - std::min(for_lengths, piece_.bytes)) for_lengths = token_alignment;
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

uint32_t SetBlock::append(const SetSlice &rows) {
  SIMJOIN_CHECK(counted_ == 0 && (rows.token_count == 0 || rows.wide() == wide()));  // before close()
  const uint64_t room = (most_token_bytes_ - token_bytes_) / width_;
  const uint32_t most = std::min(rows.rows, most_rows_ - rows_);
  uint64_t tokens = 0;
  uint32_t count = 0;
  if (most == rows.rows && rows.token_count <= room) {  // mostly, and then no row is looked at alone
    tokens = rows.token_count;
    count = rows.rows;
    for (uint32_t i = 0; i < count; ++i) longest_ = std::max(longest_, rows.lengths[i]);
  }
  for (; count < most && rows.lengths[count] <= room - tokens; ++count) {
    tokens += rows.lengths[count];
    longest_ = std::max(longest_, rows.lengths[count]);
  }
  if (tokens > 0) std::memcpy(tokens_ + token_bytes_, rows.tokens, tokens * width_);
  if (count > 0) std::memcpy(lengths_ + rows_, rows.lengths, count * sizeof(uint32_t));
  token_bytes_ += tokens * width_;
  rows_ += count;
  return count;
}

void SetBlock::close() {
  SIMJOIN_CHECK(counted_ == 0);  // called once
  counted_ = bytes_used();
  memory_.add(counted_);
}

SetSlice SetBlock::slice(uint32_t first_row, uint32_t rows) const {
  SIMJOIN_CHECK(first_row >= first_row_ && first_row - first_row_ + rows <= rows_);
  if (rows == rows_) return all();
  const uint32_t skipped = first_row - first_row_;
  const uint64_t before = std::accumulate(lengths_, lengths_ + skipped, uint64_t{0});
  const uint64_t within = std::accumulate(lengths_ + skipped, lengths_ + skipped + rows, uint64_t{0});
  return {all().type, tokens_ + before * width_, lengths_ + skipped, rows, within};
}

SharedBlock BlockWriter::append(Side side, SetSlice &rows) {
  const auto s = static_cast<size_t>(side);
  std::shared_ptr<SetBlock> &open = open_[s];
  const auto append_to_open = [&] {
    const uint32_t count = open->append(rows);
    const uint64_t tokens = count == rows.rows
                                ? rows.token_count
                                : std::accumulate(rows.lengths, rows.lengths + count, uint64_t{0});
    rows_[s] += count;
    rows.tokens += tokens * (rows.wide() ? sizeof(int64_t) : sizeof(int32_t));
    rows.lengths += count;
    rows.rows -= count;
    rows.token_count -= tokens;
    return count > 0;
  };
  // Empty sets have any type: a block may hold nothing else, so its width need not be the join's.
  const bool fits = open && (rows.token_count == 0 || open->wide() == rows.wide());
  if (fits && append_to_open()) return nullptr;
  SharedBlock full;
  double row_bytes = first_row_bytes;
  if (open && open->rows() > 0) {
    row_bytes = static_cast<double>(open->bytes_used()) / open->rows();
    full = close(side);
  }
  PiecesAhead *ahead = memory_.current() >= bytes_of_large_join ? &ahead_ : nullptr;
  open = std::make_shared<SetBlock>(memory_, side, rows_[s], rows.wide(), rows.lengths[0], row_bytes, ahead);
  append_to_open();
  return full;
}

SharedBlock BlockWriter::take_last(Side side) {
  ahead_.clear();
  return close(side);
}

SharedBlock BlockWriter::close(Side side) {
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
