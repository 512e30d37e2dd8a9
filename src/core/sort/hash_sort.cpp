#include "core/sort/hash_sort.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "core/sort/sort_kernels.hpp"

namespace simjoin {
namespace {

// A bucket is expected to have at least this number of hashes, and less than twice as many. Registers sort
// them.
constexpr size_t hashes_a_bucket = 16;
constexpr int most_hash_bits = 8;

// Divides numbers that are equal above their `bits` lowest bits by the upper ones of those bits.
template <typename Number>
void sort_by_buckets(Number *numbers, size_t count, Number *room, int bits) {
  if (sort_in_registers(numbers, count, numbers)) return;
  if (count <= 2 * hashes_a_bucket) return std::sort(numbers, numbers + count);
  const int bucket_bits =
      std::min({bits, most_hash_bits, static_cast<int>(std::bit_width(count / hashes_a_bucket)) - 1});
  const int shift = bits - bucket_bits;
  const size_t buckets = size_t{1} << bucket_bits;
  const auto bucket_of = [&](Number number) { return number >> shift & (buckets - 1); };
  uint32_t ends[size_t{1} << most_hash_bits] = {};
  for (size_t i = 0; i < count; ++i) ++ends[bucket_of(numbers[i])];
  uint32_t placed = 0;
  for (size_t bucket = 0; bucket < buckets; ++bucket) placed += std::exchange(ends[bucket], placed);
  for (size_t i = 0; i < count; ++i) room[ends[bucket_of(numbers[i])]++] = numbers[i];
  for (size_t bucket = 0, begin = 0; bucket < buckets; begin = ends[bucket++]) {
    const size_t size = ends[bucket] - begin;
    if (sort_in_registers(room + begin, size, numbers + begin)) continue;
    std::copy_n(room + begin, size, numbers + begin);
    if (shift > 0) sort_by_buckets(numbers + begin, size, room + begin, shift);
  }
}

}  // namespace

void sort_hashes(uint32_t *numbers, size_t count, uint32_t *room) {
  sort_by_buckets(numbers, count, room, 32);
}
void sort_hashes(uint64_t *numbers, size_t count, uint64_t *room) {
  sort_by_buckets(numbers, count, room, 64);
}

}  // namespace simjoin
