#include "core/lsh/lsh_filter.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace simjoin {
namespace {

constexpr int64_t unreachable = int64_t{1} << 40;

}  // namespace

// Returns the least overlap of sets of these sizes.
int64_t LshFilter::required(uint32_t l, uint32_t r) {
  const uint64_t sizes = uint64_t{l} << 32 | r;
  KnownOverlap &known = known_[(l * 29 + r) % known_overlaps];
  if (known.sizes != sizes) known = {sizes, bounds_.min_overlap(l, r)};
  return known.required;
}

void LshFilter::load(std::span<const LshRow> rows) {
  rows_ = rows;
  required_of_ = 0;
  if (rows.size() < least_columns) return;
  std::iota(order_.begin(), order_.begin() + rows.size(), 0);
  std::sort(order_.begin(), order_.begin() + rows.size(),
            [&](uint32_t a, uint32_t b) { return rows[a].size < rows[b].size; });
  for (size_t column = 0; column < rows.size(); ++column) {
    const LshBitmap &bitmap = *rows[order_[column]].bitmap;
    uint64_t *const to = &columns_[column / signature_block * signature_block * words];
    for (size_t w = 0; w < words; ++w) to[w * signature_block + column % signature_block] = bitmap.words[w];
    excess_[column] = bitmap.excess;
  }
}

// Sets what the columns require of a left row of this size.
void LshFilter::require(uint32_t l) {
  if (l == required_of_) return;
  required_of_ = l;
  size_t column = 0;
  while (column < rows_.size()) {
    const uint32_t size = rows_[order_[column]].size;
    const int64_t least = required(l, size);
    do {
      required_[column++] = least;
    } while (column < rows_.size() && rows_[order_[column]].size == size);
  }
  while (column % signature_block != 0) required_[column++] = unreachable;
}

// The same bound as in the columns.
bool LshFilter::may_be_similar(const LshRow &l, const LshRow &r) {
  int64_t bound = std::min(l.bitmap->excess, r.bitmap->excess);
  for (size_t w = 0; w < words; ++w) bound += std::popcount(l.bitmap->words[w] & r.bitmap->words[w]);
  return bound >= required(l.size, r.size);
}

std::span<const uint32_t> LshFilter::near(const LshRow &l, size_t first) {
  size_t found = 0;
  if (rows_.size() < least_columns) {
    for (size_t row = first; row < rows_.size(); ++row)
      if (may_be_similar(l, rows_[row])) hits_[found++] = static_cast<uint32_t>(row);
    return {hits_.data(), found};
  }
  require(l.size);
  const size_t blocks = (rows_.size() + signature_block - 1) / signature_block;
  const SignatureRow comparison{l.bitmap->words.data(), l.bitmap->excess, columns_.data(),
                                excess_.data(),         required_.data(), blocks};
  const size_t hits = filter_row(comparison, words, hits_.data());
  for (size_t hit = 0; hit < hits; ++hit) {
    const uint32_t row = order_[hits_[hit]];
    if (row >= first) hits_[found++] = row;
  }
  return {hits_.data(), found};
}

}  // namespace simjoin
