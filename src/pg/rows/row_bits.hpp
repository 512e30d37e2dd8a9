// Sets of rows of one side of a join, or of other small numbers, a bit each.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "utils/memutils.h"
}

#include <atomic>

namespace simjoin::pg {

// Rows past the end of the bits are not in the set. A zeroed object is an empty set.
struct RowBits {
  bits8 *bits;
  uint32_t bytes;
};

// Makes room for `rows` rows. The bits live as long as the context.
inline void reserve_rows(MemoryContext context, RowBits *rows, uint32_t count) {
  const uint32_t needed = count / 8 + 1;
  if (needed <= rows->bytes) return;
  auto *grown =
      static_cast<bits8 *>(MemoryContextAllocExtended(context, needed, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
  if (rows->bits != nullptr) {
    memcpy(grown, rows->bits, rows->bytes);
    pfree(rows->bits);
  }
  *rows = {grown, needed};
}

inline bool has_row(const RowBits &rows, uint32_t row) {
  return row / 8 < rows.bytes && (rows.bits[row / 8] >> (row % 8) & 1U) != 0;
}

// Adds a row that there is room for. Only this thread writes, but the engine's threads may read at the same
// time.
inline void set_row(RowBits *rows, uint32_t row) {
  const std::atomic_ref byte(rows->bits[row / 8]);
  const bits8 set = static_cast<bits8>(1U << (row % 8));
  byte.store(byte.load(std::memory_order_relaxed) | set, std::memory_order_relaxed);
}

// Adds a row. Room is made for it in steps that double.
inline void add_row(MemoryContext context, RowBits *rows, uint32_t row) {
  constexpr uint32_t least_rows = 8192;
  if (row / 8 >= rows->bytes)
    reserve_rows(context, rows, row < UINT32_MAX / 2 ? Max(row * 2, least_rows) : UINT32_MAX);
  set_row(rows, row);
}

}  // namespace simjoin::pg
