// Pairs of a bucket that the sizes of their sets, and bitmaps of their tokens, rule out. At low thresholds
// these are nearly all, and most buckets of many rows are large by chance.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/candidates/signature_kernels.hpp"
#include "core/lsh/lsh_join.hpp"
#include "core/lsh/lsh_rows.hpp"
#include "core/measure.hpp"

namespace simjoin {

// Compares sets with a tile of others at once. A pair that it rules out is not similar. Whether it does
// depends on the two sets only.
class LshFilter {
 public:
  explicit LshFilter(const LshSpec &spec) : bounds_(spec.measure, spec.threshold) {}

  // The most rows of a tile: their bitmaps stay in the first-level cache.
  static constexpr size_t most_rows = 512;

  // From now on sets are compared with these rows, 1 to most_rows, which must stay where they are.
  void load(std::span<const LshRow> rows);
  // Returns the places, among the rows, of those with which the left row `l` may be similar, from the row
  // `first` on, in any order. They are valid until the next call.
  std::span<const uint32_t> near(const LshRow &l, size_t first);

 private:
  static constexpr size_t words = std::tuple_size_v<decltype(LshBitmap::words)>;
  static constexpr size_t known_overlaps = 1024;  // entries
  // Fewer rows are compared one by one, where they are.
  static constexpr size_t least_columns = signature_block;

  struct KnownOverlap {
    uint64_t sizes = 0;  // both; no set is empty
    int64_t required = 0;
  };

  int64_t required(uint32_t l, uint32_t r);
  void require(uint32_t l);
  bool may_be_similar(const LshRow &l, const LshRow &r);

  const Bounds bounds_;
  std::array<KnownOverlap, known_overlaps> known_{};
  std::span<const LshRow> rows_;
  uint32_t required_of_ = 0;  // the size of left row that `required_` is for; 0 if there is none
  // By column, where the rows are ascending by size.
  alignas(64) std::array<uint64_t, most_rows * words> columns_{};
  std::array<int64_t, most_rows> excess_{};
  std::array<int64_t, most_rows> required_;
  std::array<uint32_t, most_rows> order_;  // the row
  std::array<uint32_t, most_rows + signature_block> hits_;
};

}  // namespace simjoin
