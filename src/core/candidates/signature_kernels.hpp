// Vectorised filters on bit signatures, for the best instruction set of the host (Highway's dynamic
// dispatch).
#pragma once

#include <cstddef>
#include <cstdint>

namespace simjoin {

// Signatures are stored in blocks of this many sets: word w of set i is at (i / 8 * words + w) * 8 + i % 8.
inline constexpr size_t signature_block = 8;
inline constexpr size_t max_signature_words = 256;

// A row of comparisons: one signature against consecutive ones. A pair's overlap is at most popcount(a & b) +
// min(excess of a, excess of b). The excess is the number of tokens minus the bits set.
struct SignatureRow {
  const uint64_t *row;  // `words` words
  int64_t row_excess;
  const uint64_t *columns;  // `blocks` blocks
  const int64_t *excess;    // by column
  const int64_t *required;  // by column: the least overlap
  size_t blocks;
};

// Writes the columns whose bound reaches `required` to `hits` (room for all columns plus one block). Returns
// their number. `words` is a power of two up to max_signature_words.
size_t filter_row(const SignatureRow &row, size_t words, uint32_t *hits);

// Copies the `values` whose signature differs from `probe` in at most `limit` bits to `out`, and returns
// their number. `out` has room for `count` values plus one vector (signature_padding).
size_t select_near(const uint64_t *signatures, const uint64_t *values, size_t count, uint64_t probe,
                   uint32_t limit, uint64_t *out);
inline constexpr size_t signature_padding = 64;

// Returns which of `count` signatures share at least `least` bits with `probe`: a bit each, the lowest of the
// first one. `count` is at most 64. Signatures are read in whole vectors, so signature_vector of them follow.
uint64_t select_sharing(const uint64_t *signatures, size_t count, uint64_t probe, uint32_t least);
inline constexpr size_t signature_vector = 8;

}  // namespace simjoin
