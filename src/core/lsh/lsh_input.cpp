#include "core/lsh/lsh_input.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/interruption.hpp"
#include "core/lsh/lsh_memory.hpp"
#include "core/minhash/minhash.hpp"
#include "core/minhash/minhash_family.hpp"
#include "core/set_slices.hpp"
#include "core/sets/value_numbers.hpp"

namespace simjoin {
LshInput::LshInput(const LshSpec &spec, MemoryCounter &memory)
    : spec_(spec),
      memory_(memory),
      tokens_(spec.self_join, memory),
      sides_{RawSets(lsh_memory::block_bytes(spec), memory), RawSets(lsh_memory::block_bytes(spec), memory)},
      hashes_{WaitingTokens<uint32_t>(spec, memory), WaitingTokens<uint32_t>(spec, memory)} {
  if (spec.weighted) weights_.emplace(spec, memory);
}

void LshInput::add(Side side, const SetSlice &rows) {
  if (!weights_) {
    refuse_weights(rows);
    return for_each_set(rows, [&](const auto &set) {
      note_set(rows.type, size_of_set(set));
      add_set(side, set);
    });
  }
  for_each_weighted_set(rows, [&](const auto &set, std::span<const double> weights) {
    note_set(rows.type, size_of_set(set));
    sides_[static_cast<int>(side)].sizes.push_back(weights_->add(side, set, weights));
  });
}

// Notes a set of so many tokens, or refuses it if those before had tokens of another type.
void LshInput::note_set(TokenType type, uint32_t tokens) {
  if (tokens == 0) return;
  if (type_ && *type_ != type) Vocabulary::throw_mixed();
  hashed_tokens_ += tokens;
  if (std::exchange(type_, type) == type || !numbers_texts()) return;
  // Sets before the first that is not empty wait for signatures like it.
  for (int side = 0; side < 2; ++side)
    for (uint32_t row = 0; row < sides_[side].rows(); ++row) hashes_[side].add_row(0);
}

template <typename T>
void LshInput::add_set(Side side, std::span<const T> tokens) {
  if (numbers_texts()) return add_set(side, PackedTexts());  // an empty set
  using Number = std::make_unsigned_t<T>;
  constexpr uint32_t words = sizeof(Number) == sizeof(uint64_t) ? 2 : 1;
  RawSets &sets = sides_[static_cast<int>(side)];
  auto *const numbers = reinterpret_cast<Number *>(sets.room(words * tokens.size()));
  if (spec_.verify) return sets.add_row(distinct_numbers(tokens, numbers, sort_), words);
  // Sets that are not compared need no order.
  auto size = static_cast<uint32_t>(tokens.size());
  if (!write_numbers(tokens, numbers)) size = distinct_(numbers, size, check_interruption);
  sets.add_row(size, words);
}

void LshInput::add_set(Side side, const PackedTexts &set) {
  if (numbers_texts()) return tokens_.add_texts(side, set, text_input());
  identities_.clear();
  for_each_token(
      set, [&](std::string_view text) { identities_.push_back(static_cast<int64_t>(token_identity(text))); });
  add_set(side, std::span<const int64_t>(identities_));
}

TextInput LshInput::text_input() {
  const NumberedForm form = {false, [](std::string_view text) { return token_hash(token_identity(text)); }};
  return {sides_[0],
          sides_[1],
          thread_count(spec_.threads),
          spec_.memory_limit,
          file_,
          lsh_memory::vocabulary_bytes(spec_),
          form,
          [this](NumberedSets &&rows) { take_rows(std::move(rows)); }};
}

// Adds rows of texts that are numbered.
void LshInput::take_rows(NumberedSets &&rows) {
  const int side = static_cast<int>(rows.side);
  const uint32_t *hash = rows.hashes.data();
  for (const uint32_t count : rows.counts) {
    std::copy_n(hash, count, hashes_[side].add_row(count));
    hash += count;
  }
  sides_[side].add_rows(std::move(rows.numbers), rows.sizes);
}

size_t LshInput::peak_in_memory() const {
  const size_t reading = file_ == nullptr
                             ? memory_.current()
                             : static_cast<size_t>(reading_per_token_ * static_cast<double>(hashed_tokens_));
  if (weights_)
    return std::max(reading, weights_->peak_in_memory(sides_[0].sizes.bytes() + sides_[1].sizes.bytes()));
  using Hashes = WaitingTokens<uint32_t>;
  const size_t sets = sides_[0].bytes() + sides_[1].bytes();
  // With a file, it is asked what a limit would have to be, and a higher limit has larger chunks.
  const size_t chunk = file_ == nullptr ? lsh_memory::chunk_bytes(spec_) : lsh_memory::most_chunk_bytes;
  const size_t all_hashes = Hashes::bytes(rows(), hashed_tokens_);
  const size_t hashes = numbers_texts() ? all_hashes : std::min(all_hashes, chunk);
  const size_t signing = sets + hashes + rows() * lsh_memory::signed_bytes(spec_);
  const size_t kept = spec_.verify ? sets : sides_[0].sizes.bytes() + sides_[1].sizes.bytes();
  const size_t joining = kept + rows() * lsh_memory::joining_bytes(spec_);
  return std::max({reading, signing, joining});
}

void LshInput::spill_to(SpillFile &file) {
  reading_per_token_ =
      static_cast<double>(memory_.current()) / static_cast<double>(std::max<uint64_t>(hashed_tokens_, 1));
  file_ = &file;
  if (weights_) return weights_->spill_to(file);
  for (int side = 0; side < 2; ++side) {
    sides_[side].spill_to(file);
    hashes_[side].spill_to(file);
  }
}

void LshInput::number(WorkerPool &pool) {
  if (numbers_texts()) tokens_.number(sides_[0], sides_[1], lsh_memory::vocabulary_bytes(spec_), pool);
  for (WaitingTokens<uint32_t> &hashes : hashes_) hashes.shrink();
  if (weights_) weights_->shrink();
}

void LshInput::take_hashes(const VisitHashes &visit, WorkerPool &pool) {
  for (int side = 0; side < 2; ++side) {
    const uint32_t first_row = side == 0 ? 0 : left_rows();
    if (numbers_texts())
      hashes_[side].take(first_row, visit);
    else
      take_derived(side, first_row, visit, pool);
    if (!spec_.verify) sides_[side].blocks.clear();
  }
}

// Makes the hashes from the numbers, for as many rows at a time as fit a chunk.
void LshInput::take_derived(int side, uint32_t first_row, const VisitHashes &visit, WorkerPool &pool) {
  const RawSets &sets = sides_[side];
  const uint32_t words = wide() ? 2 : 1;
  TokenArrays<uint32_t> hashes(memory_);
  std::vector<Piece> pieces;
  auto block = sets.blocks.begin();
  size_t taken = 0;  // tokens of the block
  for (uint32_t row = 0, begin; row < sets.rows();) {
    size_t tokens = 0;
    hashes.ends.clear();
    for (begin = row; row < sets.rows(); ++row) {
      const size_t with = tokens + sets.sizes[row];
      if (row > begin && hashes_[side].signing_bytes(row + 1 - begin, with) > lsh_memory::chunk_bytes(spec_))
        break;
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
    constexpr size_t words = sizeof(Number) == sizeof(uint64_t) ? 2 : 1;
    Buffer<uint32_t> read(memory_);
    const auto *const numbers = reinterpret_cast<const Number *>(
        RawSets::ids_of(*piece.block, file_, piece.from * words, piece.count * words, read));
    for (size_t t = 0; t < piece.count; ++t)
      hashes[piece.to + t] = token_hash(token_identity(int64_t{value_of(numbers[t])}));
  });
}

}  // namespace simjoin
