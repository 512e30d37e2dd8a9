#include "core/candidates/intersect_kernels.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/candidates/intersect_kernels.cpp"
#include <hwy/foreach_target.h>
// Highway's own headers must follow the loop over targets.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace simjoin {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Vectors of up to 64 bytes.
template <typename Rank>
using Ranks = hn::CappedTag<Rank, 64 / sizeof(Rank)>;

// Returns `overlap` plus the overlap of the remaining ranks, rank by rank.
template <typename Rank>
HWY_INLINE uint32_t merge_rest(const Rank *r, const Rank *r_end, const Rank *s, const Rank *s_end,
                               uint32_t overlap) {
  while (r < r_end && s < s_end) {
    const Rank a = *r, b = *s;
    overlap += a == b;
    r += a <= b;
    s += b <= a;
  }
  return overlap;
}

// Compares each rank of r with a whole vector of s at once. The steps are as many as r has ranks and s has
// vectors. The last vector overlaps the one before, whose ranks are all below the rest of r.
template <typename Rank>
HWY_INLINE uint32_t intersect_by_vectors(const Rank *HWY_RESTRICT r, uint32_t r_size,
                                         const Rank *HWY_RESTRICT s, uint32_t s_size, uint32_t known,
                                         uint32_t required) {
  const Ranks<Rank> d;
  const auto lanes = static_cast<uint32_t>(hn::Lanes(d));
  if (s_size < lanes) return merge_rest(r, r + r_size, s, s + s_size, known);
  uint32_t overlap = known, i = 0;
  for (uint32_t j = 0; j < s_size; j += lanes) {
    if (overlap + uint64_t{std::min(r_size - i, s_size - j)} < required) return overlap;
    const Rank *const at = s + std::min(j, s_size - lanes);
    const auto block = hn::LoadU(d, at);
    const Rank last = at[lanes - 1];
    for (; i < r_size && r[i] <= last; ++i) {
      overlap += hn::AllFalse(d, hn::Eq(block, hn::Set(d, r[i]))) ? 0 : 1;
    }
    if (i == r_size) break;
  }
  return overlap;
}

// Finds the vector of s that may hold a rank, by doubling steps and then halving steps.
template <typename Rank>
HWY_INLINE uint32_t intersect_by_galloping(const Rank *HWY_RESTRICT r, uint32_t r_size,
                                           const Rank *HWY_RESTRICT s, uint32_t s_size, uint32_t known,
                                           uint32_t required) {
  const Ranks<Rank> d;
  const auto lanes = static_cast<uint32_t>(hn::Lanes(d));
  const uint32_t blocks = s_size / lanes;
  const auto last_of = [&](uint32_t block) { return s[uint64_t{block} * lanes + lanes - 1]; };
  uint32_t overlap = known, block = 0, i = 0;
  for (; i < r_size; ++i) {
    if (overlap + uint64_t{r_size - i} < required) return overlap;
    const Rank rank = r[i];
    uint32_t end = block;  // blocks before `block` are too low; block `end` is not, or does not exist
    for (uint32_t step = 1; end < blocks && last_of(end) < rank; step *= 2) {
      block = end + 1;
      end = blocks - block > step ? block + step : blocks;
    }
    while (block < end) {
      const uint32_t middle = block + (end - block) / 2;
      if (last_of(middle) < rank) {
        block = middle + 1;
      } else {
        end = middle;
      }
    }
    if (block == blocks) break;
    const auto ranks = hn::LoadU(d, s + uint64_t{block} * lanes);
    overlap += hn::AllFalse(d, hn::Eq(ranks, hn::Set(d, rank))) ? 0 : 1;
  }
  return merge_rest(r + i, r + r_size, s + uint64_t{blocks} * lanes, s + s_size, overlap);
}

#define SIMJOIN_INTERSECT(bits)                                                                          \
  uint32_t intersect_vectors_##bits(const uint##bits##_t *r, uint32_t r_size, const uint##bits##_t *s,   \
                                    uint32_t s_size, uint32_t known, uint32_t required) {                \
    return intersect_by_vectors(r, r_size, s, s_size, known, required);                                  \
  }                                                                                                      \
  uint32_t intersect_galloping_##bits(const uint##bits##_t *r, uint32_t r_size, const uint##bits##_t *s, \
                                      uint32_t s_size, uint32_t known, uint32_t required) {              \
    return intersect_by_galloping(r, r_size, s, s_size, known, required);                                \
  }
SIMJOIN_INTERSECT(32)
SIMJOIN_INTERSECT(64)
#undef SIMJOIN_INTERSECT

}  // namespace HWY_NAMESPACE
}  // namespace simjoin
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace simjoin {

#define SIMJOIN_INTERSECT(bits)                                                                     \
  HWY_EXPORT(intersect_vectors_##bits);                                                             \
  HWY_EXPORT(intersect_galloping_##bits);                                                           \
  uint32_t intersect_vectors(const uint##bits##_t *r, uint32_t r_size, const uint##bits##_t *s,     \
                             uint32_t s_size, uint32_t known, uint32_t required) {                  \
    return HWY_DYNAMIC_DISPATCH(intersect_vectors_##bits)(r, r_size, s, s_size, known, required);   \
  }                                                                                                 \
  uint32_t intersect_galloping(const uint##bits##_t *r, uint32_t r_size, const uint##bits##_t *s,   \
                               uint32_t s_size, uint32_t known, uint32_t required) {                \
    return HWY_DYNAMIC_DISPATCH(intersect_galloping_##bits)(r, r_size, s, s_size, known, required); \
  }
SIMJOIN_INTERSECT(32)
SIMJOIN_INTERSECT(64)
#undef SIMJOIN_INTERSECT

}  // namespace simjoin
#endif
