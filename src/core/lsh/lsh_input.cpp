#include "core/lsh/lsh_input.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/lsh/lsh_memory.hpp"
#include "core/minhash/minhash.hpp"
#include "core/minhash/minhash_family.hpp"

namespace simjoin {
namespace {

uint64_t identity_of(std::string_view token) {
  return token_identity(token);
}
uint64_t identity_of(int64_t token) {
  return token_identity(token);
}

}  // namespace

LshInput::LshInput(const LshSpec &spec, MemoryCounter &memory)
    : spec_(spec),
      memory_(memory),
      tokens_(spec.self_join, memory),
      sides_{RawSets(lsh_memory::block_bytes(spec), memory), RawSets(lsh_memory::block_bytes(spec), memory)},
      hashes_{TokenHashes(memory), TokenHashes(memory)} {}

// Returns the number of different tokens of a set.
template <typename T>
uint32_t LshInput::distinct_tokens(std::span<const T> tokens) {
  identities_.clear();
  for (const T &token : tokens) identities_.push_back(identity_of(token));
  std::sort(identities_.begin(), identities_.end());
  const auto end = std::unique(identities_.begin(), identities_.end());
  return static_cast<uint32_t>(end - identities_.begin());
}

template <typename T>
void LshInput::add_set(Side side, std::span<const T> tokens) {
  const int number = static_cast<int>(side);
  RawSets &sets = sides_[number];
  TokenHashes &hashes = hashes_[number];
  if (sides_[0].sizes.size() + sides_[1].sizes.size() >= size_t{UINT32_MAX} - 1 ||
      tokens.size() >= UINT32_MAX)
    throw Error(ErrorKind::limit_exceeded, "a join by bands cannot have more than 4294967294 sets");
  if (spec_.verify) {
    if (file_ != nullptr)
      tokens_.bound(lsh_memory::vocabulary_bytes(spec_), tokens.size(), sides_[0], sides_[1], *file_);
    sets.add_row(tokens_.add(side, tokens, sets.room(tokens.size())));
  } else {
    sets.sizes.push_back(distinct_tokens(tokens));
  }
  const size_t bytes = signing_bytes(hashes.ends.size() + 1, hashes.values.size() + tokens.size());
  if (file_ != nullptr && bytes > lsh_memory::chunk_bytes(spec_)) spill_hashes(number);
  uint32_t *hash = hashes.values.extend(tokens.size());
  for (const T &token : tokens) *hash++ = token_hash(identity_of(token));
  hashes.ends.push_back(hashes.values.size());
  hashed_tokens_ += tokens.size();
}

template void LshInput::add_set(Side, std::span<const int32_t>);
template void LshInput::add_set(Side, std::span<const int64_t>);
template void LshInput::add_set(Side, std::span<const std::string_view>);

// Returns the bytes of the token hashes of rows, and of their signatures.
size_t LshInput::signing_bytes(size_t rows, size_t tokens) const {
  return tokens * sizeof(uint32_t) + rows * (sizeof(size_t) + lsh_memory::signed_bytes(spec_));
}

size_t LshInput::peak_in_memory() const {
  const size_t sets = sides_[0].bytes() + sides_[1].bytes();
  const size_t signing = sets + signing_bytes(rows(), hashed_tokens_);
  const size_t joining = sets + size_t{rows()} * lsh_memory::joining_bytes(spec_);
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
    spill_hashes(side);
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
  tokens_.number(sides_[0], sides_[1], lsh_memory::vocabulary_bytes(spec_), pool);
  for (RawSets &side : sides_) side.sizes.shrink();
  for (TokenHashes &hashes : hashes_) {
    hashes.values.shrink();
    hashes.ends.shrink();
  }
}

void LshInput::take_hashes(const VisitHashes &visit) {
  uint32_t first_row = 0;
  for (int side = 0; side < 2; ++side) {
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
      first_row += static_cast<uint32_t>(hashes_[side].ends.size());
    }
    hashes_[side] = TokenHashes(memory_);
  }
}

}  // namespace simjoin
