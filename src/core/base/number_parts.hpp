// Numbers dealt out by a hash: each worker passes over all of them and counts those of its part, so that
// nothing is shared.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace simjoin {

// The part of a number, and a hash of it among those of the part. Both are made of one hash: the part is what
// it comes to on a scale of all parts, and the other what is left of it then.
struct NumberPart {
  NumberPart(uint32_t number, uint32_t parts) {
    const uint64_t scaled = (uint64_t{number} * 0x9E3779B97F4A7C15u >> 32) * parts;
    part = static_cast<uint32_t>(scaled >> 32);
    hash = static_cast<uint32_t>(scaled);
  }
  uint32_t part;
  uint32_t hash;
};

// Returns how many parts so many numbers are worth, of which each is a pass over all of them: one for each
// worker at most.
inline uint32_t worthwhile_parts(uint64_t numbers, int workers) {
  constexpr uint64_t least = uint64_t{1} << 14;
  return static_cast<uint32_t>(std::clamp<uint64_t>(numbers / least, 1, static_cast<uint64_t>(workers)));
}

// Calls visit(own, so_many) for those of the numbers of which part_of() tells the part, a few at a time.
template <typename PartOf, typename Visit>
void visit_part(const uint32_t *numbers, size_t count, uint32_t part, PartOf &&part_of, Visit &&visit) {
  constexpr size_t picked = size_t{1} << 10;  // stays in the first-level cache
  uint32_t own[picked];
  for (size_t begin = 0; begin < count; begin += picked) {
    const size_t end = std::min(count, begin + picked);
    size_t found = 0;
    for (size_t i = begin; i < end; ++i) {
      own[found] = numbers[i];
      found += part_of(numbers[i]) == part;
    }
    visit(static_cast<const uint32_t *>(own), found);
  }
}

}  // namespace simjoin
