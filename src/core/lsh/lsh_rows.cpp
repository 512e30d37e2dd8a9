#include "core/lsh/lsh_rows.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <vector>

namespace simjoin {
namespace {

constexpr size_t rows_per_start = 64;
// Rows whose bitmaps a worker makes at a time.
constexpr size_t bitmaps_at_a_time = 1024;

// Returns the bitmap of a set of so many distinct tokens. Hashes may be repeated.
LshBitmap bitmap_of(std::span<const uint32_t> hashes, uint32_t size) {
  LshBitmap bitmap = {};
  for (const uint32_t hash : hashes) bitmap.words[hash >> 30] |= uint64_t{1} << (hash >> 24) % 64;
  bitmap.excess = size;
  for (const uint64_t word : bitmap.words) bitmap.excess -= std::popcount(word);
  return bitmap;
}

}  // namespace

LshRows::LshRows(LshInput &input, const LshSpec &spec, SpillFile *file, MemoryCounter &memory)
    : input_(input),
      spec_(spec),
      bands_(spec.plan.bands),
      left_rows_(input.left_rows()),
      rows_(input.rows()),
      memory_(memory),
      hashes_(memory),
      words_(memory),
      sets_(memory),
      bitmaps_(memory),
      file_(file),
      token_words_(input.wide() ? 2 : 1),
      words_before_(memory) {}

void LshRows::build(LshSigner &signer, WorkerPool &pool, const std::function<void(double share)> &begins) {
  if (in_file()) {
    columns_place_ = file_->reserve(rows_ * bands_ * sizeof(uint64_t));
    heads_place_ = file_->reserve(rows_ * head_words() * sizeof(uint64_t));
    if (spec_.counts_tokens()) find_starts(pool.stop());
    words_place_ = file_->reserve(words_before(rows_) * sizeof(uint32_t));
  } else {
    hashes_.resize(rows_ * bands_);
    if (!spec_.verify) words_.resize(words_before(rows_));
    if (spec_.counts_tokens()) bitmaps_.resize(rows_);
  }
  const auto sign_sets = [&](uint32_t first, const auto &sets) {
    begins(static_cast<double>(first + sets.ends.size()) / rows_);
    sign(first, sets, signer, pool);
  };
  if (LshWeights *const weights = input_.weights()) {
    weights->take_signed(sign_sets);
    if (spec_.verify) weights->rank(pool);
    return;
  }
  input_.take_hashes(sign_sets, pool);
  if (!spec_.verify) return;
  if (!in_file()) sets_.resize(rows_);
  for (int side = 0; side < 2; ++side) take_sets(side, pool);
}

// Makes what is kept of consecutive rows beside their words, and the words that are signatures.
template <class Token>
void LshRows::sign(uint32_t first, const SetArrays<Token> &sets, LshSigner &signer, WorkerPool &pool) {
  const size_t rows = in_file() ? sets.ends.size() : 0;
  Buffer<uint64_t> hashes(memory_, rows * bands_);
  Buffer<uint32_t> values(memory_, spec_.verify ? 0 : rows * spec_.permutations);
  Buffer<LshBitmap> bitmaps(memory_, spec_.counts_tokens() ? rows : 0);
  if constexpr (std::is_same_v<Token, uint32_t>)
    if (spec_.counts_tokens())
      make_bitmaps(first, sets, in_file() ? bitmaps.data() : bitmaps_.data() + first, pool);
  if (!in_file())
    return signer.sign(sets, pool, spec_.verify ? nullptr : words_.data() + words_before(first),
                       hashes_.data() + first * bands_);
  signer.sign(sets, pool, values.data(), hashes.data());
  store(first, rows, hashes.data(), bitmaps.data(), values.data(), pool);
}

void LshRows::make_bitmaps(uint32_t first, const SetArrays<uint32_t> &hashes, LshBitmap *bitmaps,
                           WorkerPool &pool) {
  const size_t rows = hashes.ends.size();
  pool.parallel((rows + bitmaps_at_a_time - 1) / bitmaps_at_a_time, [&](int, size_t piece) {
    const size_t end = std::min(rows, (piece + 1) * bitmaps_at_a_time);
    for (size_t row = piece * bitmaps_at_a_time; row < end; ++row) {
      pool.stop().check();
      const size_t begin = hashes.begin(row);
      bitmaps[row] = bitmap_of(hashes.tokens.subspan(begin, hashes.ends[row] - begin),
                               size_of(static_cast<uint32_t>(first + row)));
    }
  });
}

// Writes what is kept of consecutive rows to the file.
void LshRows::store(uint32_t first, size_t rows, const uint64_t *hashes, const LshBitmap *bitmaps,
                    const uint32_t *values, WorkerPool &pool) {
  const size_t words = head_words();
  Buffer<uint64_t> heads(memory_, rows * words);
  for (size_t row = 0; row < rows; ++row) {
    std::copy_n(hashes + row * bands_, bands_, heads.data() + row * words);
    if (words > bands_) std::memcpy(heads.data() + row * words + bands_, bitmaps + row, sizeof(LshBitmap));
  }
  file_->write(heads_place_ + first * words * sizeof(uint64_t), heads.data(),
               heads.size() * sizeof(uint64_t));
  heads.release();
  if (!spec_.verify)
    file_->write(words_place_ + words_before(first) * sizeof(uint32_t), values,
                 rows * spec_.permutations * sizeof(uint32_t));
  pool.parallel(bands_, [&](int, size_t band) {
    std::vector<uint64_t> column(rows);
    for (size_t row = 0; row < rows; ++row) column[row] = hashes[row * bands_ + band];
    file_->write(columns_place_ + (band * rows_ + first) * sizeof(uint64_t), column.data(),
                 rows * sizeof(uint64_t));
  });
}

// Finds where the words of every 64th row begin.
void LshRows::find_starts(const StopFlag &stop) {
  uint64_t words = 0;
  for (uint32_t row = 0; row < rows_; ++row) {
    stop.check_at(row);
    if (row % rows_per_start == 0) words_before_.push_back(words);
    words += words_of(row);
  }
  if (rows_ % rows_per_start == 0) words_before_.push_back(words);
  words_before_.shrink();
}

// Returns the number of words of the rows before this one.
uint64_t LshRows::words_before(uint32_t number) const {
  if (!spec_.counts_tokens()) return uint64_t{number} * words_of(number);
  uint64_t words = words_before_[number / rows_per_start];
  for (uint32_t row = number - number % rows_per_start; row < number; ++row) words += words_of(row);
  return words;
}

// Puts the tokens of a side's sets in order, and them where they stay.
void LshRows::take_sets(int side, WorkerPool &pool) {
  RawSets &sets = input_.sets(side);
  const uint32_t first = side == 0 ? 0 : left_rows_;
  pool.parallel(sets.blocks.size(), [&](int, size_t number) {
    RawBlock &block = sets.blocks[number];
    const uint32_t first_of_block = first + block.first_row;
    if (in_file()) sets.load(block, *file_);
    sort_block(block, first_of_block, pool.stop());
    if (!in_file()) return;
    file_->write(words_place_ + words_before(first_of_block) * sizeof(uint32_t), block.ids.data(),
                 block.tokens * sizeof(uint32_t));
    block.ids.release();
  });
}

void LshRows::sort_block(RawBlock &block, uint32_t first, const StopFlag &stop) {
  uint32_t *set = block.ids.data();
  for (uint32_t row = first; row < first + block.rows; ++row) {
    stop.check();
    const size_t words = words_of(row);
    const auto less = [&](uint32_t a, uint32_t b) {
      stop.check();
      return a < b;
    };
    if (!input_.in_order() && !std::is_sorted(set, set + words)) std::sort(set, set + words, less);
    if (!in_file()) sets_[row] = set;
    set += words;
  }
}

void LshRows::read(uint32_t number, std::span<LshRow> rows, uint64_t *to) const {
  const size_t head = head_words();
  auto *const words = reinterpret_cast<uint32_t *>(to + rows.size() * head);
  size_t word = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<uint32_t>(number + i);
    const auto *const bitmap = reinterpret_cast<const LshBitmap *>(to + i * head + bands_);
    rows[i] = {to + i * head, head > bands_ ? bitmap : nullptr, words + word, row, size_of(row)};
    word += words_of(row);
  }
  file_->read(heads_place_ + number * head * sizeof(uint64_t), to, rows.size() * head * sizeof(uint64_t));
  file_->read(words_place_ + words_before(number) * sizeof(uint32_t), words, word * sizeof(uint32_t));
}

}  // namespace simjoin
