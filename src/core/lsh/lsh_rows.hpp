// The rows of a join by bands as they are compared: the hashes of their bands, and what pairs are verified
// by.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "core/base/memory.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
#include "core/lsh/lsh_input.hpp"
#include "core/lsh/lsh_join.hpp"
#include "core/lsh/lsh_signer.hpp"
#include "core/minhash/signature_device.hpp"

namespace simjoin {

// The tokens of a set, of which each sets a bit that its hash tells: a pair's bound depends on its tokens
// alone.
struct LshBitmap {
  std::array<uint64_t, 4> words;
  int64_t excess;  // tokens minus bits
};

// A row in memory.
struct LshRow {
  const uint64_t *hashes;   // of its bands
  const LshBitmap *bitmap;  // null where tokens are not counted
  const uint32_t *words;    // the numbers of its tokens, ascending, of 32 bits each or, where the input is
                            // wide, of 64; unverified the values of its signature; verified by weights none
  uint32_t number;
  uint32_t size;  // distinct tokens, of those with a weight above 0
};

// Rows are numbered over both sides, right ones after the left ones. In the file hashes are by band, for the
// search, and also by row, with its bitmap, beside whose words they are for the comparison.
class LshRows {
 public:
  // `file` is null where all rows are in memory.
  LshRows(LshInput &input, const LshSpec &spec, SpillFile *file, MemoryCounter &memory);

  // Makes the hashes of all bands, and puts the tokens of each set in order. Takes the input's hashes. Calls
  // `begins` with the share of the rows that will have hashes, before they get them.
  void build(LshSigner &signer, WorkerPool &pool, const std::function<void(double share)> &begins);

  uint32_t rows() const { return rows_; }
  uint32_t left_rows() const { return left_rows_; }
  uint32_t size_of(uint32_t row) const {
    return row < left_rows_ ? input_.sizes(0)[row] : input_.sizes(1)[row - left_rows_];
  }
  bool in_file() const { return file_ != nullptr; }
  // Returns a row that is in memory.
  LshRow row(uint32_t number) const {
    const bool counts = spec_.counts_tokens();
    const uint32_t *words = counts ? sets_[number] : words_.data() + words_before(number);
    return {hashes_.data() + number * bands_, counts ? &bitmaps_[number] : nullptr, words, number,
            size_of(number)};
  }
  // Returns the most words of 64 bits that read() writes for a row.
  size_t stored_words(uint32_t number) const { return head_words() + (words_of(number) + 1) / 2; }
  // Reads consecutive rows from the file, from `number` on. Their hashes, bitmaps and words go to `to`.
  void read(uint32_t number, std::span<LshRow> rows, uint64_t *to) const;

  // Rows that visit_hashes() reads at a time.
  static constexpr size_t piece_rows = size_t{1} << 13;
  size_t pieces() const { return (rows_ + piece_rows - 1) / piece_rows; }
  // Calls visit(row) for the rows of a piece that are not empty, ascending.
  template <class Visit>
  void visit_rows(size_t piece, Visit &&visit) const;
  // Calls visit(row, hash) for them.
  template <class Visit>
  void visit_hashes(uint32_t band, size_t piece, Visit &&visit) const;

 private:
  size_t words_of(uint32_t number) const {
    if (!spec_.verify) return spec_.permutations;
    return spec_.weighted ? 0 : size_t{size_of(number)} * token_words_;
  }
  static constexpr size_t bitmap_words = sizeof(LshBitmap) / sizeof(uint64_t);
  // Of 64 bits.
  size_t head_words() const { return bands_ + (spec_.counts_tokens() ? bitmap_words : 0); }
  uint64_t words_before(uint32_t number) const;
  template <class Token>
  void sign(uint32_t first, const SetArrays<Token> &sets, LshSigner &signer, WorkerPool &pool);
  void make_bitmaps(uint32_t first, const SetArrays<uint32_t> &hashes, LshBitmap *bitmaps, WorkerPool &pool);
  void store(uint32_t first, size_t rows, const uint64_t *hashes, const LshBitmap *bitmaps,
             const uint32_t *values, WorkerPool &pool);
  void find_starts(const StopFlag &stop);
  void take_sets(int side, WorkerPool &pool);
  void sort_block(RawBlock &block, uint32_t first, const StopFlag &stop);

  LshInput &input_;
  const LshSpec spec_;
  const size_t bands_;
  const uint32_t left_rows_;
  const uint32_t rows_;
  MemoryCounter &memory_;
  Buffer<uint64_t> hashes_;        // by row and band
  Buffer<uint32_t> words_;         // by row: signatures
  Buffer<const uint32_t *> sets_;  // by row: numbers of its tokens
  Buffer<LshBitmap> bitmaps_;      // by row
  SpillFile *const file_;          // if not null, the arrays above are in the file:
  uint64_t columns_place_ = 0;     // hashes by band and row
  uint64_t heads_place_ = 0;       // by row: hashes by band, then the bitmap
  uint64_t words_place_ = 0;       // words by row
  const uint32_t token_words_;     // that the number of a token takes
  Buffer<uint64_t> words_before_;  // of each 64th row
};

template <class Visit>
void LshRows::visit_rows(size_t piece, Visit &&visit) const {
  const size_t begin = piece * piece_rows, end = std::min<size_t>(rows_, begin + piece_rows);
  for (size_t row = begin; row < end; ++row) {
    const auto number = static_cast<uint32_t>(row);
    if (size_of(number) > 0) visit(number);
  }
}

template <class Visit>
void LshRows::visit_hashes(uint32_t band, size_t piece, Visit &&visit) const {
  const size_t begin = piece * piece_rows, end = std::min<size_t>(rows_, begin + piece_rows);
  Buffer<uint64_t> column(memory_, in_file() ? end - begin : 0);
  if (in_file())
    file_->read(columns_place_ + (size_t{band} * rows_ + begin) * sizeof(uint64_t), column.data(),
                column.size() * sizeof(uint64_t));
  visit_rows(piece, [&](uint32_t row) {
    visit(row, in_file() ? column[row - begin] : hashes_[row * bands_ + band]);
  });
}

}  // namespace simjoin
