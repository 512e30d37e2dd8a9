#include "core/flyhash/flyhash.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "core/base/check.hpp"

namespace simjoin {
namespace {

// A sample of rows whose activations show about where the least winner will be. Candidates begin some
// standard deviations below it. With 4, one block in a thousand has to be hashed again. 1024 of 25,088 rows
// leave an eighth of the activations as candidates, with 1,254 winners.
constexpr uint32_t sample_rows = 1024;
constexpr double sample_margin = 4;
// A projection of fewer rows than this times the sample is not worth a guess.
constexpr uint32_t least_samples = 4;

// The bytes of a block's candidates.
constexpr size_t list_bytes = size_t{32} << 20;

// Up to this number of activations `ranked` compares, otherwise it counts classes.
constexpr size_t few_activations = 64;
constexpr int class_bits = 8;

// Returns the rank among the sampled activations below which no activation can win, with near certainty.
size_t sample_rank(const FlyShape &shape) {
  const double share = static_cast<double>(shape.winners) / shape.hash_length;
  const double expected = share * sample_rows;
  return static_cast<size_t>(std::ceil(expected + sample_margin * std::sqrt(expected * (1 - share)))) + 1;
}

size_t guess_row_for(const FlyShape &shape) {
  if (shape.hash_length / least_samples < sample_rows || sample_rank(shape) >= sample_rows) return 0;
  return sample_rows;
}

}  // namespace

FlyProjection::FlyProjection(const FlyShape &shape)
    : shape_(shape), positions_(new uint16_t[size_t{shape.hash_length} * shape.projection]) {}

void FlyProjection::draw(uint32_t begin, uint32_t end) {
  std::vector<uint64_t> taken(shape_.dimension / 64 + 1);
  uint16_t *next = positions_.get() + size_t{begin} * shape_.projection;
  for (uint32_t row = begin; row < end; ++row) {
    draw_fly_row(shape_, row, [&](uint32_t position) {
      uint64_t &word = taken[position / 64];
      const uint64_t bit = uint64_t{1} << position % 64;
      const bool is_new = (word & bit) == 0;
      word |= bit;
      return is_new;
    });
    for (size_t word = 0; word < taken.size(); ++word) {
      for (uint64_t bits = taken[word]; bits != 0; bits &= bits - 1) {
        *next++ = static_cast<uint16_t>(word * 64 + static_cast<size_t>(std::countr_zero(bits)));
      }
      taken[word] = 0;
    }
  }
}

FlyBlock::FlyBlock(const FlyProjection &projection)
    : projection_(projection),
      shape_(projection.shape()),
      capacity_(std::min<size_t>(shape_.hash_length, std::max(2 * shape_.winners, 4 * sample_rows))),
      most_vectors_(
          std::clamp<size_t>(list_bytes / (capacity_ * sizeof(FlyCandidate)), 1, fly_block_vectors)),
      guess_row_(guess_row_for(shape_)),
      block_(shape_.dimension),
      lists_(new FlyCandidate[most_vectors_ * (capacity_ + list_gap)]) {
  for (size_t vector = 0; vector < most_vectors_; ++vector) ends_[vector] = list(vector) + capacity_;
}

void FlyBlock::start(const uint16_t *levels, size_t vectors) {
  SIMJOIN_CHECK(vectors > 0 && vectors <= most_vectors_);
  vectors_ = vectors;
  if (vectors < fly_block_vectors) std::fill(block_.begin(), block_.end(), Line{});
  for (size_t vector = 0; vector < vectors; ++vector) {
    for (Line &line : block_) line.levels[vector] = *levels++;
  }
  begin_rows(guess_row_ > 0);
}

void FlyBlock::begin_rows(bool guess) {
  row_ = 0;
  guessing_ = guess;
  for (size_t vector = 0; vector < fly_block_vectors; ++vector) {
    above(vector) = vector < vectors_ ? -1 : std::numeric_limits<int32_t>::max();
    if (vector < vectors_) next_[vector] = list(vector);
  }
}

bool FlyBlock::step(uint32_t rows) {
  const uint32_t end = row_ + std::min(rows, shape_.hash_length - row_);
  const FlyCandidates lists{next_, ends_, above_.values};
  while (row_ < end) {
    const size_t until = guessing_ && row_ < guess_row_ ? std::min<size_t>(end, guess_row_) : end;
    const FlyRows work{projection_.positions(), shape_.projection, row_, until};
    row_ = static_cast<uint32_t>(project_rows(work, block_.front().levels, lists));
    for (size_t vector = 0; vector < vectors_; ++vector) {
      if (guessing_ && row_ == guess_row_) raise_bound(vector);
      if (next_[vector] == ends_[vector] && row_ < shape_.hash_length) keep_best(vector);
    }
  }
  if (row_ < shape_.hash_length) return false;
  for (size_t vector = 0; vector < vectors_; ++vector) {
    if (candidates(vector).size() >= shape_.winners) continue;
    begin_rows(false);  // fewer than the sample promised
    return false;
  }
  return true;
}

// Guesses from the sample which activations can win. Candidates below the guess are dropped, now and from now
// on.
void FlyBlock::raise_bound(size_t vector) {
  const std::span<FlyCandidate> sample = candidates(vector);
  size_t larger;
  const uint32_t bound = ranked(sample, sample_rank(shape_), larger);
  FlyCandidate *kept = list(vector);
  for (const FlyCandidate candidate : sample) {
    *kept = candidate;
    kept += candidate.activation >= bound ? 1 : 0;
  }
  next_[vector] = kept;
  above(vector) = static_cast<int32_t>(bound) - 1;
}

template <class Take>
uint32_t FlyBlock::take_best(size_t vector, Take &&take) {
  const std::span<const FlyCandidate> all = candidates(vector);
  size_t larger;
  const uint32_t bound = ranked(all, shape_.winners, larger);
  size_t ties = shape_.winners - larger;
  for (const FlyCandidate candidate : all) {
    const bool tie = candidate.activation == bound && ties > 0;
    ties -= tie ? 1 : 0;
    take(candidate, tie || candidate.activation > bound);
  }
  return bound;
}

// Keeps the winners so far. From now on only larger activations can win, since ties go to earlier rows.
void FlyBlock::keep_best(size_t vector) {
  FlyCandidate *kept = list(vector);
  const uint32_t bound = take_best(vector, [&](FlyCandidate candidate, bool wins) {
    *kept = candidate;
    kept += wins ? 1 : 0;
  });
  next_[vector] = kept;
  above(vector) = static_cast<int32_t>(bound);
}

void FlyBlock::write(size_t vector, uint32_t *winners) {
  const uint32_t *end = winners + shape_.winners;
  take_best(vector, [&](FlyCandidate candidate, bool wins) {
    if (winners == end) return;  // any other would be written behind the last winner
    *winners = candidate.row;
    winners += wins ? 1 : 0;
  });
}

uint32_t FlyBlock::ranked(std::span<const FlyCandidate> candidates, size_t rank, size_t &larger) {
  larger = 0;
  class_.resize(candidates.size());
  uint32_t least = std::numeric_limits<uint32_t>::max(), most = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const uint32_t activation = candidates[i].activation;
    class_[i] = activation;
    least = std::min(least, activation);
    most = std::max(most, activation);
  }
  // Keeps the one of 2^class_bits classes of activations that holds the rank, until few activations are left.
  while (class_.size() > few_activations && least < most) {
    const int shift = std::max(0, static_cast<int>(std::bit_width(most - least)) - class_bits);
    uint32_t counts[size_t{1} << class_bits] = {};
    for (const uint32_t activation : class_) ++counts[(activation - least) >> shift];
    uint32_t chosen = (most - least) >> shift;
    for (; larger + counts[chosen] < rank; --chosen) larger += counts[chosen];
    std::erase_if(class_, [&](uint32_t activation) { return (activation - least) >> shift != chosen; });
    most = std::min(most, least + ((chosen + 1) << shift) - 1);
    least += chosen << shift;
  }
  const auto at = class_.begin() + static_cast<ptrdiff_t>(rank - larger - 1);
  std::nth_element(class_.begin(), at, class_.end(), std::greater<>());
  const uint32_t found = *at;
  larger +=
      static_cast<size_t>(std::count_if(class_.begin(), class_.end(), [&](uint32_t a) { return a > found; }));
  return found;
}

}  // namespace simjoin
