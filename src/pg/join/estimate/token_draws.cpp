#include "pg/join/estimate/token_draws.hpp"

extern "C" {
#include "common/hashfn.h"
}

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "core/base/probe_table.hpp"
#include "pg/base/growing_array.hpp"

namespace simjoin::pg {
namespace {

// Returns the average frequency of a token drawn from a set that is not among the most common tokens.
// Frequencies are assumed to fall with the rank as they do among the less common half of the most common
// tokens.
double rare_frequency(int count, const float *frequencies, double average_size) {
  auto *falling = allocate<float>(static_cast<size_t>(count));
  std::copy(frequencies, frequencies + count, falling);
  const int half = count / 2, last = count - 1;
  std::nth_element(falling, falling + half, falling + count, std::greater<>());
  double all = 0, least = 1;
  for (int i = 0; i < count; ++i) {
    all += frequencies[i];
    least = Min(least, static_cast<double>(frequencies[i]));
  }
  const double rest = average_size - all, middle = falling[half];
  pfree(falling);
  if (rest <= 0 || least <= 0) return 0;
  const double exponent =
      last > half ? std::log(middle / least) / std::log((last + 1.0) / (half + 1.0)) : 1.0;
  // The sum of the squares of least * (rank / count)^-exponent over all ranks beyond count.
  const double squares = least * least * count / Max(2 * exponent - 1, 0.2);
  return Min(squares / rest, least);
}

// Finds the draw of a token from the share of the sets that hold it, by a table of the shares at powers of
// two.
class DrawTable {
 public:
  DrawTable(const SizeGroup *sizes, int size_count);
  double draw_of(double frequency) const;

 private:
  static constexpr int entries = 30;
  static constexpr double largest_draw = 2;
  double frequency_[entries];  // for the largest draw, half of it, a quarter of it, and so on
};

DrawTable::DrawTable(const SizeGroup *sizes, int size_count) {
  double draw = largest_draw;
  for (double &entry : frequency_) {
    entry = 0;
    for (int i = 0; i < size_count; ++i) entry += sizes[i].share * holds(draw * sizes[i].size);
    draw /= 2;
  }
}

double DrawTable::draw_of(double wanted) const {
  const double *end = frequency_ + entries;
  const double *below = std::lower_bound(frequency_, end, wanted, std::greater<>());
  if (below == frequency_) return largest_draw;
  if (below == end) return 0.0;
  const double draw = std::ldexp(largest_draw, static_cast<int>(frequency_ - below));
  return draw * (1 + (wanted - *below) / (below[-1] - *below));
}

}  // namespace

TokenKey token_key(int64 token) {
  return static_cast<uint64>(token) * 0x9E3779B97F4A7C15u;  // the golden ratio: spreads the high bits
}

TokenKey token_key(std::string_view token) {
  return hash_bytes_extended(reinterpret_cast<const unsigned char *>(token.data()),
                             static_cast<int>(token.size()), 0);
}

double TokenDraws::operator()(TokenKey token) const {
  if (count_ == 0) return rare_;
  const int found = slots_[slot_of(token)];
  return found >= 0 ? draw(found) : rare_;
}

size_t TokenDraws::slot_of(TokenKey token) const {
  return probe(static_cast<size_t>(token >> 32) & (slot_count_ - 1), slot_count_,
               [&](size_t slot) { return slots_[slot] < 0 || tokens_[slots_[slot]] == token; });
}

void TokenDraws::fill(int count, const TokenKey *tokens, const float *frequencies, const SizeGroup *sizes,
                      int size_count, double average_size) {
  if (count < 1) return;
  const DrawTable table(sizes, size_count);
  count_ = count;
  tokens_ = tokens;
  draws_ = allocate<float>(static_cast<size_t>(count));
  slot_count_ = std::bit_ceil(2 * static_cast<size_t>(count));
  slots_ = allocate<int>(slot_count_);
  std::fill_n(slots_, slot_count_, -1);
  for (int i = 0; i < count; ++i) {
    draws_[i] = static_cast<float>(table.draw_of(frequencies[i]));
    int &position = slots_[slot_of(tokens[i])];
    if (position < 0) position = i;
  }
  rare_ = table.draw_of(rare_frequency(count, frequencies, average_size));
}

}  // namespace simjoin::pg
