#include "core/routing/parts.hpp"

#include <algorithm>
#include <string>

#include "core/base/check.hpp"
#include "core/base/error.hpp"
#include "core/base/mix.hpp"

namespace simjoin {
namespace {

constexpr uint32_t part_numbers[] = {1, 3, 7, 13, 21, 31, 57, 73, 91, 133, 183, 273};

// The perfect difference set of each number.
constexpr std::initializer_list<uint16_t> difference_sets[] = {
    {0},
    {0, 1},
    {0, 1, 3},
    {0, 1, 3, 9},
    {0, 1, 4, 14, 16},
    {0, 1, 3, 8, 12, 18},
    {0, 1, 3, 13, 32, 36, 43, 52},
    {0, 1, 3, 7, 15, 31, 36, 54, 63},
    {0, 1, 3, 9, 27, 49, 56, 61, 77, 81},
    {0, 1, 3, 12, 20, 34, 38, 81, 88, 94, 104, 109},
    {0, 1, 3, 16, 23, 28, 42, 76, 82, 86, 119, 137, 154, 175},
    {0, 1, 3, 7, 15, 31, 63, 90, 116, 127, 136, 181, 194, 204, 233, 238, 255}};
static_assert(std::size(part_numbers) == std::size(difference_sets));

constexpr uint64_t hashes = uint64_t{1} << 32;

uint64_t hash_of_id(int64_t id) {
  return mix_bits(static_cast<uint64_t>(id)) >> 32;
}

int64_t place(uint64_t size, uint64_t hash) {
  return static_cast<int64_t>(size * hashes + hash);
}

// Returns the part of a place.
uint32_t part_at(int64_t place, std::span<const int64_t> cuts) {
  return static_cast<uint32_t>(std::upper_bound(cuts.begin(), cuts.end(), place) - cuts.begin());
}

}  // namespace

uint32_t group_of_id(int64_t id, uint32_t groups) {
  return static_cast<uint32_t>(hash_of_id(id) * groups / hashes);
}

std::span<const uint32_t> part_numbers_by_id() {
  return part_numbers;
}

std::span<const uint16_t> difference_set(int64_t parts) {
  const auto number = std::find(std::begin(part_numbers), std::end(part_numbers), parts);
  if (number != std::end(part_numbers)) return difference_sets[number - std::begin(part_numbers)];
  std::string numbers;
  for (const uint32_t possible : part_numbers)
    numbers += (numbers.empty() ? "" : ", ") + std::to_string(possible);
  throw Error(ErrorKind::invalid_argument, "similarity_parts: parts is " + std::to_string(parts),
              "The numbers of parts in which any two groups of ids meet once are " + numbers + ".");
}

int64_t place_by_size(uint32_t size, int64_t id) {
  return place(size, hash_of_id(id));
}

std::vector<int64_t> cuts_by_size(std::vector<SizeCount> sizes, uint32_t parts) {
  std::sort(sizes.begin(), sizes.end(),
            [](const SizeCount &a, const SizeCount &b) { return a.size < b.size; });
  size_t distinct = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (distinct > 0 && sizes[distinct - 1].size == sizes[i].size)
      sizes[distinct - 1].count += sizes[i].count;
    else
      sizes[distinct++] = sizes[i];
  }
  sizes.resize(distinct);
  const auto tokens = [](const SizeCount &some) { return some.size * some.count; };
  double all = 0;
  for (const SizeCount &some : sizes) all += tokens(some);
  std::vector<int64_t> cuts;
  size_t next = 0;
  double before = 0;  // tokens of the sizes before sizes[next]
  for (uint32_t part = 1; part < parts; ++part) {
    const double wanted = all / parts * part;
    while (next < sizes.size() && before + tokens(sizes[next]) <= wanted) before += tokens(sizes[next++]);
    // Rounding may have left nothing for the last parts.
    cuts.push_back(next == sizes.size()
                       ? place(INT32_MAX, hashes - 1)
                       : place(sizes[next].size,
                               static_cast<uint64_t>((wanted - before) / tokens(sizes[next]) * hashes)));
  }
  return cuts;
}

PartRange parts_by_size(uint32_t size, int64_t id, const Bounds &bounds, std::span<const int64_t> cuts,
                        bool both_sides) {
  SIMJOIN_CHECK(std::is_sorted(cuts.begin(), cuts.end()));
  const uint32_t home = part_at(place_by_size(size, id), cuts);
  if (size == 0) return {home, home, home};
  const int64_t greatest = bounds.max_partner(size, INT32_MAX), least = bounds.min_partner(size);
  // If not even an equal set qualifies, there is no partner of any size.
  if (greatest < size) return {home, home, home};
  return {home, both_sides ? part_at(place(least, 0), cuts) : home,
          part_at(place(greatest, hashes - 1), cuts)};
}

}  // namespace simjoin
