// Verification: the exact overlap of two sets of ascending ranks, or the fact that it is too small.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "core/base/check.hpp"
#include "core/candidates/intersect_kernels.hpp"
#include "core/sort/ascending.hpp"

namespace simjoin {

// Returns `known` plus the number of ranks that r and s share. The result is exact if it is at least
// `required`. Otherwise it is some number below `required`. Merges rank by rank.
template <typename Rank>
uint32_t merged_overlap(const Rank *r, uint32_t r_size, const Rank *s, uint32_t s_size, uint32_t known,
                        uint32_t required) {
  constexpr uint32_t unrolled = 4;  // merge steps between two looks at the bound
  const Rank *const r_end = r + r_size;
  const Rank *const s_end = s + s_size;
  uint32_t overlap = known;
  const auto merge_step = [&] {
    const Rank a = *r, b = *s;
    overlap += a == b;
    r += a <= b;
    s += b <= a;
  };
  while (r_end - r >= unrolled && s_end - s >= unrolled) {
    if (overlap + static_cast<uint64_t>(std::min(r_end - r, s_end - s)) < required) return overlap;
    for (uint32_t step = 0; step < unrolled; ++step) merge_step();
  }
  if (overlap + static_cast<uint64_t>(std::min(r_end - r, s_end - s)) < required) return overlap;
  while (r < r_end && s < s_end) merge_step();
  return overlap;
}

// Returns the same by the method that suits the sizes. A rank has 32 or 64 bits.
template <typename Rank>
uint32_t bounded_overlap(const Rank *r, uint32_t r_size, const Rank *s, uint32_t s_size, uint32_t known,
                         uint32_t required) {
  SIMJOIN_CHECK(strictly_ascending(std::span(r, r_size)) && strictly_ascending(std::span(s, s_size)));
  if (r_size > s_size) {
    std::swap(r, s);
    std::swap(r_size, s_size);
  }
  if (s_size / galloping_ratio > r_size) return intersect_galloping(r, r_size, s, s_size, known, required);
  if (s_size < least_vector_size) return merged_overlap(r, r_size, s, s_size, known, required);
  if (known + uint64_t{r_size} < required) return known;  // spares the call
  return intersect_vectors(r, r_size, s, s_size, known, required);
}

// Returns the same for sets whose first r_prefix and s_prefix ranks, both above zero, have been compared and
// share `known`. The merge continues where the shorter reach of the two prefixes ends.
inline uint32_t bounded_overlap_after_prefix(const uint32_t *r, uint32_t r_size, uint32_t r_prefix,
                                             const uint32_t *s, uint32_t s_size, uint32_t s_prefix,
                                             uint32_t known, uint32_t required) {
  SIMJOIN_CHECK(r_prefix > 0 && r_prefix <= r_size && s_prefix > 0 && s_prefix <= s_size);
  SIMJOIN_CHECK(known <= std::min(r_prefix, s_prefix));
  if (r[r_prefix - 1] <= s[s_prefix - 1]) {
    return bounded_overlap(r + r_prefix, r_size - r_prefix, s + known, s_size - known, known, required);
  }
  return bounded_overlap(r + known, r_size - known, s + s_prefix, s_size - s_prefix, known, required);
}

}  // namespace simjoin
