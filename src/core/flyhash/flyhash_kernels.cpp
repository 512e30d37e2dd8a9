#include "core/flyhash/flyhash_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/flyhash/flyhash_kernels.cpp"
#include <hwy/foreach_target.h>
// Highway's own headers must follow the loop over targets.
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/flyhash/flyhash_family.hpp"

HWY_BEFORE_NAMESPACE();
namespace simjoin {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr auto most_step = static_cast<int32_t>(fly_most_level - fly_zero_level);

float largest_magnitude_dispatched(const float *values, size_t count) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  auto most = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) most = hn::Max(most, hn::Abs(hn::LoadU(d, values + i)));
  float largest = hn::GetLane(hn::MaxOfLanes(d, most));
  for (; i < count; ++i) largest = std::max(largest, std::abs(values[i]));
  return largest;
}

// Two factors, since one float cannot be the power of two that enlarges the least numbers enough.
void write_levels_dispatched(const float *values, size_t count, float factor, float second,
                             uint16_t *levels) {
  size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> steps;
  const hn::Rebind<uint16_t, decltype(d)> narrow;
  const size_t lanes = hn::Lanes(d);
  const auto by = hn::Set(d, factor), and_by = hn::Set(d, second);
  for (; i + lanes <= count; i += lanes) {
    const auto scaled = hn::Mul(hn::Mul(hn::LoadU(d, values + i), by), and_by);
    const auto most = hn::Set(steps, most_step);
    const auto step = hn::Max(hn::Min(hn::NearestInt(scaled), most), hn::Neg(most));
    const auto level = hn::Add(step, hn::Set(steps, int32_t{fly_zero_level}));
    hn::StoreU(hn::DemoteTo(narrow, level), narrow, levels + i);
  }
#endif
  for (; i < count; ++i) {
    const auto step = static_cast<int32_t>(std::nearbyint(values[i] * factor * second));
    levels[i] = static_cast<uint16_t>(std::clamp(step, -most_step, most_step) + int32_t{fly_zero_level});
  }
}

// Appends the activations of a row that `mask` marks; bit i stands for vector first + 2 * i. Returns whether
// a list is full.
HWY_INLINE bool append(uint32_t mask, const int32_t *sums, size_t first, size_t row,
                       const FlyCandidates &candidates) {
  bool full = false;
  for (; mask != 0; mask &= mask - 1) {
    const auto i = static_cast<size_t>(std::countr_zero(mask));
    const size_t vector = first + 2 * i;
    FlyCandidate *at = candidates.next[vector];
    *at = {static_cast<uint32_t>(sums[i]), static_cast<uint32_t>(row)};
    candidates.next[vector] = ++at;
    full |= at == candidates.ends[vector];
  }
  return full;
}

#if HWY_TARGET == HWY_SCALAR

size_t project_rows_dispatched(const FlyRows &rows, const uint16_t *block, const FlyCandidates &candidates) {
  for (size_t row = rows.begin; row < rows.end; ++row) {
    const uint16_t *positions = rows.positions + row * rows.projection;
    bool full = false;
    for (size_t vector = 0; vector < fly_block_vectors; ++vector) {
      int32_t sum = 0;
      for (size_t i = 0; i < rows.projection; ++i) sum += block[positions[i] * fly_block_vectors + vector];
      if (sum > candidates.above[vector % 2][vector / 2]) full |= append(1, &sum, vector, row, candidates);
    }
    if (full) return row + 1;
  }
  return rows.end;
}

#else

using Levels = hn::CappedTag<uint16_t, fly_block_vectors>;
using Pairs = hn::Repartition<uint32_t, Levels>;
using Sums = hn::RebindToSigned<Pairs>;

HWY_INLINE uint32_t mask_of(hn::Mask<Sums> mask) {
  uint8_t bytes[sizeof(uint32_t) * 2] = {};  // at least 8 may be written
  hn::StoreMaskBits(Sums(), mask, bytes);
  uint32_t bits;
  std::memcpy(&bits, bytes, sizeof bits);
  return bits;
}

// Returns the levels of a position, two in each lane.
HWY_INLINE hn::Vec<Levels> levels_at(const uint16_t *levels, uint16_t position) {
  return hn::Load(Levels(), levels + position * fly_block_vectors);
}

// Two levels share a 32-bit lane, and two levels of 15 bits can be added without a carry into the other half.
// `all` adds up the lanes as they are, `high` their upper halves. The difference gives the lower halves.
HWY_INLINE bool project_part(const uint16_t *positions, size_t projection, const uint16_t *block, size_t part,
                             size_t row, const FlyCandidates &candidates) {
  const Pairs pairs;
  const Sums signed_sums;
  const uint16_t *levels = block + part;
  auto all = hn::Zero(pairs), high = hn::Zero(pairs);
  const uint16_t *next = positions, *end = positions + projection;
  for (; next + 4 <= end; next += 4) {
    const auto one = hn::BitCast(pairs, hn::Add(levels_at(levels, next[0]), levels_at(levels, next[1])));
    const auto other = hn::BitCast(pairs, hn::Add(levels_at(levels, next[2]), levels_at(levels, next[3])));
    all = hn::Add(all, hn::Add(one, other));
    high = hn::Add(high, hn::Add(hn::ShiftRight<16>(one), hn::ShiftRight<16>(other)));
  }
  for (; next < end; ++next) {
    const auto one = hn::BitCast(pairs, levels_at(levels, *next));
    all = hn::Add(all, one);
    high = hn::Add(high, hn::ShiftRight<16>(one));
  }
  const auto even = hn::BitCast(signed_sums, hn::Sub(all, hn::ShiftLeft<16>(high)));
  const auto odd = hn::BitCast(signed_sums, high);
  const auto even_taken = hn::Gt(even, hn::Load(signed_sums, candidates.above[0] + part / 2));
  const auto odd_taken = hn::Gt(odd, hn::Load(signed_sums, candidates.above[1] + part / 2));
  if (hn::AllFalse(signed_sums, hn::Or(even_taken, odd_taken))) return false;
  alignas(64) int32_t sums[fly_block_vectors];
  hn::Store(even, signed_sums, sums);
  hn::Store(odd, signed_sums, sums + fly_block_vectors / 2);
  bool full = append(mask_of(even_taken), sums, part, row, candidates);
  full |= append(mask_of(odd_taken), sums + fly_block_vectors / 2, part + 1, row, candidates);
  return full;
}

size_t project_rows_dispatched(const FlyRows &rows, const uint16_t *block, const FlyCandidates &candidates) {
  const size_t lanes = hn::Lanes(Levels());
  for (size_t row = rows.begin; row < rows.end; ++row) {
    const uint16_t *positions = rows.positions + row * rows.projection;
    bool full = false;
    for (size_t part = 0; part < fly_block_vectors; part += lanes) {
      full |= project_part(positions, rows.projection, block, part, row, candidates);
    }
    if (full) return row + 1;
  }
  return rows.end;
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace simjoin
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace simjoin {

HWY_EXPORT(largest_magnitude_dispatched);
HWY_EXPORT(write_levels_dispatched);
HWY_EXPORT(project_rows_dispatched);

void fly_levels(const float *values, size_t count, uint16_t *levels) {
  constexpr int most_exponent = 100;  // of a factor
  const float largest = HWY_DYNAMIC_DISPATCH(largest_magnitude_dispatched)(values, count);
  int exponent = 0;
  std::frexp(largest, &exponent);  // largest is below 2^exponent, and at least half of that
  exponent = int{fly_level_bits} - 1 - exponent;
  const float factor = std::ldexp(1.0f, std::min(exponent, most_exponent));
  const float second = std::ldexp(1.0f, std::max(exponent - most_exponent, 0));
  HWY_DYNAMIC_DISPATCH(write_levels_dispatched)(values, count, factor, second, levels);
}

size_t project_rows(const FlyRows &rows, const uint16_t *block, const FlyCandidates &candidates) {
  return HWY_DYNAMIC_DISPATCH(project_rows_dispatched)(rows, block, candidates);
}

}  // namespace simjoin
#endif
