// The vectorised loops of FlyHash, for the best instruction set of the host (Highway's dynamic dispatch).
#pragma once

#include <cstddef>
#include <cstdint>

namespace simjoin {

// Vectors that are hashed together: their levels at a position fill a cache line.
inline constexpr size_t fly_block_vectors = 32;

// Writes the levels of a vector: x * 2^e, rounded to the nearest integer, halves to even, plus
// fly_zero_level, where e makes the largest magnitude as large as levels can show, and is any for a vector of
// zeros. The values must be finite.
void fly_levels(const float *values, size_t count, uint16_t *levels);

// Activations of a block that may win, for each of its vectors in the order of their rows.
struct FlyCandidate {
  uint32_t activation;
  uint32_t row;
};

struct FlyCandidates {
  FlyCandidate **next;        // the place of each vector's next candidate
  FlyCandidate *const *ends;  // the end of each vector's list
  // Activations above this are taken into a list: at [0][i] that of vector 2 * i, at [1][i] that of the
  // vector after it. Aligned to 64 bytes.
  const int32_t (*above)[fly_block_vectors / 2];
};

// Rows of a projection: row r adds up the positions from positions[r * projection] on.
struct FlyRows {
  const uint16_t *positions;
  size_t projection;
  size_t begin;
  size_t end;
};

// Computes the activations of the rows and appends candidates, until a list is full. `block` holds the levels
// of fly_block_vectors vectors, all levels of a position side by side, aligned to 64 bytes. Returns the first
// row that was not computed.
size_t project_rows(const FlyRows &rows, const uint16_t *block, const FlyCandidates &candidates);

}  // namespace simjoin
