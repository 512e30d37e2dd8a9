#include "core/lsh/lsh_input.hpp"

#include <algorithm>
#include <type_traits>

#include "core/base/error.hpp"
#include "core/lsh/lsh_memory.hpp"
#include "core/minhash/minhash.hpp"
#include "core/minhash/minhash_family.hpp"
#include "core/sets/value_numbers.hpp"

namespace simjoin {
LshInput::LshInput(const LshSpec &spec, MemoryCounter &memory)
    : spec_(spec),
      memory_(memory),
      tokens_(spec.self_join, memory),
      sides_{RawSets(lsh_memory::block_bytes(spec), memory), RawSets(lsh_memory::block_bytes(spec), memory)},
      hashes_{TokenHashes(memory), TokenHashes(memory)} {}

void LshInput::add(Side side, std::span<const int32_t> tokens) {
  check_set(Type::int32, tokens.size());
  add_integers(side, tokens);
}

void LshInput::add(Side side, std::span<const int64_t> tokens) {
  check_set(Type::int64, tokens.size());
  add_integers(side, tokens);
}

void LshInput::add(Side side, std::span<const std::string_view> tokens) {
  check_set(Type::text, tokens.size());
  if (spec_.verify) return add_texts(side, tokens);
  identities_.clear();
  for (const std::string_view token : tokens)
    identities_.push_back(static_cast<int64_t>(token_identity(token)));
  add_integers(side, std::span<const int64_t>(identities_));
}

// Notes a set of so many tokens, or refuses it.
void LshInput::check_set(Type type, size_t tokens) {
  if (sides_[0].sizes.size() + sides_[1].sizes.size() >= size_t{UINT32_MAX} - 1 || tokens >= UINT32_MAX)
    throw Error(ErrorKind::limit_exceeded, "a join by bands cannot have more than 4294967294 sets");
  if (tokens == 0) return;
  if (type_ != Type::unknown && type_ != type) Vocabulary::throw_mixed();
  type_ = type;
  hashed_tokens_ += tokens;
}

template <typename T>
void LshInput::add_integers(Side side, std::span<const T> tokens) {
  using Number = std::make_unsigned_t<T>;
  constexpr uint32_t words = sizeof(Number) / sizeof(uint32_t);
  RawSets &sets = sides_[static_cast<int>(side)];
  auto *const numbers = reinterpret_cast<Number *>(sets.room(words * tokens.size()));
  sets.add_row(distinct_numbers(tokens, numbers, sort_), words);
}

void LshInput::add_texts(Side side, std::span<const std::string_view> tokens) {
  const int number = static_cast<int>(side);
  RawSets &sets = sides_[number];
  TokenHashes &hashes = hashes_[number];
  if (file_ != nullptr)
    tokens_.bound(lsh_memory::vocabulary_bytes(spec_), tokens.size(), sides_[0], sides_[1], *file_);
  sets.add_row(tokens_.add(side, tokens, sets.room(tokens.size())));
  const size_t bytes = signing_bytes(hashes.ends.size() + 1, hashes.values.size() + tokens.size());
  if (file_ != nullptr && bytes > lsh_memory::chunk_bytes(spec_)) spill_hashes(number);
  uint32_t *hash = hashes.values.extend(tokens.size());
  for (const std::string_view token : tokens) *hash++ = token_hash(token_identity(token));
  hashes.ends.push_back(hashes.values.size());
}

// Returns the bytes of the token hashes of rows.
size_t LshInput::hash_bytes(size_t rows, size_t tokens) const {
  return tokens * sizeof(uint32_t) + rows * sizeof(size_t);
}

// Returns the bytes of the token hashes of rows, and of their signatures.
size_t LshInput::signing_bytes(size_t rows, size_t tokens) const {
  return hash_bytes(rows, tokens) + rows * lsh_memory::signed_bytes(spec_);
}

size_t LshInput::peak_in_memory() const {
  const size_t sets = sides_[0].bytes() + sides_[1].bytes();
  // With a file, it is asked what a limit would have to be, and a higher limit has larger chunks.
  const size_t chunk = file_ == nullptr ? lsh_memory::chunk_bytes(spec_) : lsh_memory::most_chunk_bytes;
  const size_t all_hashes = hash_bytes(rows(), hashed_tokens_);
  const size_t hashes = numbers_texts() ? all_hashes : std::min(all_hashes, chunk);
  const size_t signing = sets + hashes + rows() * lsh_memory::signed_bytes(spec_);
  const size_t kept = spec_.verify ? sets : sides_[0].sizes.bytes() + sides_[1].sizes.bytes();
  const size_t joining = kept + rows() * lsh_memory::joining_bytes(spec_);
  const size_t reading = file_ == nullptr
                             ? memory_.current()
                             : static_cast<size_t>(reading_per_token_ * static_cast<double>(hashed_tokens_));
  return std::max({reading, signing, joining});
}

void LshInput::spill_to(SpillFile &file) {
  reading_per_token_ =
      static_cast<double>(memory_.current()) / static_cast<double>(std::max<uint64_t>(hashed_tokens_, 1));
  file_ = &file;
  for (int side = 0; side < 2; ++side) {
    sides_[side].spill_to(file);
    if (numbers_texts()) spill_hashes(side);
  }
}

// Moves a side's hashes into the file, in chunks.
void LshInput::spill_hashes(int side) {
  TokenHashes &hashes = hashes_[side];
  const size_t rows = hashes.ends.size(), chunk_bytes = lsh_memory::chunk_bytes(spec_);
  for (size_t begin = 0, before = 0; begin < rows;) {
    size_t end = begin + 1;
    while (end < rows && signing_bytes(end + 1 - begin, hashes.ends[end] - before) <= chunk_bytes) ++end;
    const size_t tokens = hashes.ends[end - 1] - before;
    const size_t value_bytes = tokens * sizeof(uint32_t), end_bytes = (end - begin) * sizeof(size_t);
    const uint64_t place = file_->reserve(value_bytes + end_bytes);
    file_->write(place, hashes.values.data() + before, value_bytes);
    file_->write(place + value_bytes, hashes.ends.data() + begin, end_bytes);
    stored_[side].push_back({static_cast<uint32_t>(end - begin), before, tokens, place});
    before += tokens;
    begin = end;
  }
  if (signing_bytes(rows, hashes.values.size()) > chunk_bytes) {
    hashes.values.release();
    hashes.ends.release();
  }
  hashes.values.clear();
  hashes.ends.clear();
}

void LshInput::load(const StoredHashes &stored, TokenHashes &hashes) const {
  hashes.values.resize(stored.tokens);
  hashes.ends.resize(stored.rows);
  const size_t value_bytes = stored.tokens * sizeof(uint32_t);
  file_->read(stored.place, hashes.values.data(), value_bytes);
  file_->read(stored.place + value_bytes, hashes.ends.data(), stored.rows * sizeof(size_t));
  for (size_t &end : hashes.ends) end -= stored.before;
}

void LshInput::number(WorkerPool &pool) {
  if (numbers_texts()) tokens_.number(sides_[0], sides_[1], lsh_memory::vocabulary_bytes(spec_), pool);
  for (RawSets &side : sides_) side.sizes.shrink();
  for (TokenHashes &hashes : hashes_) {
    hashes.values.shrink();
    hashes.ends.shrink();
  }
}

void LshInput::take_hashes(const VisitHashes &visit, WorkerPool &pool) {
  for (int side = 0; side < 2; ++side) {
    const uint32_t first_row = side == 0 ? 0 : left_rows();
    if (numbers_texts())
      take_stored(side, first_row, visit);
    else
      take_derived(side, first_row, visit, pool);
    if (!spec_.verify) sides_[side].blocks.clear();
  }
}

// Takes the hashes that were made when the sets came.
void LshInput::take_stored(int side, uint32_t first_row, const VisitHashes &visit) {
  if (file_ != nullptr) {
    spill_hashes(side);
    TokenHashes hashes(memory_);
    for (const StoredHashes &stored : stored_[side]) {
      load(stored, hashes);
      visit(first_row, hashes.arrays());
      first_row += stored.rows;
    }
  } else if (!hashes_[side].ends.empty()) {
    visit(first_row, hashes_[side].arrays());
  }
  hashes_[side] = TokenHashes(memory_);
}

// Makes the hashes from the numbers, for as many rows at a time as fit a chunk.
void LshInput::take_derived(int side, uint32_t first_row, const VisitHashes &visit, WorkerPool &pool) {
  const RawSets &sets = sides_[side];
  const uint32_t words = wide() ? 2 : 1;
  TokenHashes hashes(memory_);
  std::vector<Piece> pieces;
  auto block = sets.blocks.begin();
  size_t taken = 0;  // tokens of the block
  for (uint32_t row = 0, begin; row < sets.rows();) {
    size_t tokens = 0;
    hashes.ends.clear();
    for (begin = row; row < sets.rows(); ++row) {
      const size_t with = tokens + sets.sizes[row];
      if (row > begin && signing_bytes(row + 1 - begin, with) > lsh_memory::chunk_bytes(spec_)) break;
      hashes.ends.push_back(tokens = with);
    }
    pieces.clear();
    for (size_t at = 0; at < tokens;) {
      const size_t rest = block->tokens / words - taken;
      const size_t count = std::min({rest, tokens - at, RawSets::piece / words});
      if (count > 0) pieces.push_back({&*block, taken, count, at});
      taken = count < rest ? taken + count : 0;
      if (count == rest) ++block;
      at += count;
    }
    hashes.values.resize(tokens);
    if (wide())
      hash_pieces<uint64_t>(pieces, hashes.values.data(), pool);
    else
      hash_pieces<uint32_t>(pieces, hashes.values.data(), pool);
    visit(first_row + begin, hashes.arrays());
  }
}

template <typename Number>
void LshInput::hash_pieces(std::span<const Piece> pieces, uint32_t *hashes, WorkerPool &pool) const {
  pool.parallel(pieces.size(), [&](int, size_t i) {
    const Piece &piece = pieces[i];
    constexpr size_t words = sizeof(Number) / sizeof(uint32_t);
    Buffer<uint32_t> read(memory_);
    const auto *const numbers = reinterpret_cast<const Number *>(
        RawSets::ids_of(*piece.block, file_, piece.from * words, piece.count * words, read));
    for (size_t t = 0; t < piece.count; ++t)
      hashes[piece.to + t] = token_hash(token_identity(int64_t{value_of(numbers[t])}));
  });
}

}  // namespace simjoin
