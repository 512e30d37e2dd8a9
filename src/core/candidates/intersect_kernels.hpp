// Vectorised intersection of sorted sets, for the best instruction set of the host (Highway's dynamic
// dispatch).
#pragma once

#include <cstdint>

namespace simjoin {

// Returns the number of ranks that the ascending sets r and s, r not the longer one, share plus `known`,
// exact where that is at least `required`; some number below `required` where it is not.
uint32_t intersect_vectors(const uint32_t *r, uint32_t r_size, const uint32_t *s, uint32_t s_size,
                           uint32_t known, uint32_t required);

// The same for an r that is much shorter: looks each of its ranks up by galloping through s.
uint32_t intersect_galloping(const uint32_t *r, uint32_t r_size, const uint32_t *s, uint32_t s_size,
                             uint32_t known, uint32_t required);

// From this size of the longer set on, vectors are faster than a merge rank by rank; from this proportion of
// the sizes on, galloping is faster still (tuned on random sets of 8 to 16384 ranks, Cascade Lake).
inline constexpr uint32_t least_vector_size = 16;
inline constexpr uint32_t galloping_ratio = 64;

}  // namespace simjoin
