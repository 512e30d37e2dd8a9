#include "core/dedup/id_order.hpp"

#include <algorithm>
#include <bit>

#include "core/base/interruption.hpp"
#include "core/base/memory.hpp"
#include "core/sort/long_sort.hpp"
#include "core/sort/short_sort.hpp"

namespace simjoin {
namespace {

constexpr uint64_t sign_bit = uint64_t{1} << 63;  // flipped, it makes signed numbers sort as unsigned ones

uint64_t unsigned_of(int64_t id) {
  return static_cast<uint64_t>(id) ^ sign_bit;
}

// Returns whether each id is at least the one before it, or, with `distinct`, greater.
bool ascend(const int64_t *ids, size_t rows, bool distinct) {
  for (size_t i = 1; i < rows; ++i) {
    check_interruption_at(i);
    if (ids[i - 1] > ids[i] || (distinct && ids[i - 1] == ids[i])) return false;
  }
  return true;
}

// Sorts the keys of rows, whose ids are in order but for the lower bits that no key has room for.
void sort_by_id(Buffer<uint64_t> &keys, uint64_t row_mask, const int64_t *ids) {
  const auto before = [&](uint64_t a, uint64_t b) { return ids[a & row_mask] < ids[b & row_mask]; };
  for (size_t begin = 0, end; begin < keys.size(); begin = end) {
    for (end = begin + 1; end < keys.size() && (keys[end] | row_mask) == (keys[begin] | row_mask); ++end)
      check_interruption_at(end);
    check_interruption_at(begin);
    if (end > begin + 1) std::sort(keys.begin() + begin, keys.begin() + end, interruptible(before));
  }
}

}  // namespace

std::optional<int64_t> repeated_id(const int64_t *ids, size_t rows) {
  if (ascend(ids, rows, true)) return std::nullopt;
  MemoryCounter memory;
  Buffer<uint64_t> sorted(memory, rows);
  for (size_t i = 0; i < rows; ++i) {
    check_interruption_at(i);
    sorted[i] = unsigned_of(ids[i]);
  }
  sort_long(sorted.data(), rows, ShortSort(), check_interruption);
  for (size_t i = 1; i < rows; ++i) {
    check_interruption_at(i);
    if (sorted[i - 1] == sorted[i]) return static_cast<int64_t>(sorted[i] ^ sign_bit);
  }
  return std::nullopt;
}

// A key has as many upper bits of the id as there is room for, and the row below them.
void place_by_id(const int64_t *ids, uint32_t rows, uint32_t *places) {
  if (ascend(ids, rows, false)) {
    for (uint32_t row = 0; row < rows; ++row) {
      check_interruption_at(row);
      places[row] = row;
    }
    return;
  }
  uint64_t least = UINT64_MAX, greatest = 0;
  for (uint32_t row = 0; row < rows; ++row) {
    check_interruption_at(row);
    least = std::min(least, unsigned_of(ids[row]));
    greatest = std::max(greatest, unsigned_of(ids[row]));
  }
  const int row_bits = std::bit_width(rows - 1);
  const uint64_t row_mask = (uint64_t{1} << row_bits) - 1;
  const int left_out = std::max(static_cast<int>(std::bit_width(greatest - least)) + row_bits - 64, 0);
  MemoryCounter memory;
  Buffer<uint64_t> keys(memory, rows);
  for (uint32_t row = 0; row < rows; ++row) {
    check_interruption_at(row);
    keys[row] = (unsigned_of(ids[row]) - least) >> left_out << row_bits | row;
  }
  sort_long(keys.data(), keys.size(), ShortSort(), check_interruption);
  if (left_out > 0) sort_by_id(keys, row_mask, ids);
  for (uint32_t place = 0; place < rows; ++place) {
    check_interruption_at(place);
    places[keys[place] & row_mask] = place;
  }
}

}  // namespace simjoin
