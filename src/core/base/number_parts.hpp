// Numbers dealt out by a hash. Each worker passes over all numbers and counts those of its part, so that
// workers share nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/base/mix.hpp"

namespace simjoin {

// The part of a number, and a hash that spreads the numbers of one part. Both come from one hash: scaled by
// the number of parts, its integer part is the part and its fraction the hash.
struct NumberPart {
  NumberPart(uint64_t number, uint32_t parts) {
    const uint64_t scaled = (number * golden_gamma >> 32) * parts;
    part = static_cast<uint32_t>(scaled >> 32);
    hash = static_cast<uint32_t>(scaled);
  }
  uint32_t part;
  uint32_t hash;
};

// Returns the number of parts to divide `numbers` numbers into, at most one for each worker. Each part costs
// a pass over all numbers.
inline uint32_t worthwhile_parts(uint64_t numbers, int workers) {
  constexpr uint64_t least = uint64_t{1} << 14;
  return static_cast<uint32_t>(std::clamp<uint64_t>(numbers / least, 1, static_cast<uint64_t>(workers)));
}

// Calls visit(own, count) for the numbers whose part_of() is `part`, a few at a time.
template <typename Number, typename PartOf, typename Visit>
void visit_part(const Number *numbers, size_t count, uint32_t part, PartOf &&part_of, Visit &&visit) {
  constexpr size_t picked = size_t{1} << 10;  // fits into the first-level cache
  Number own[picked];
  for (size_t begin = 0; begin < count; begin += picked) {
    const size_t end = std::min(count, begin + picked);
    size_t found = 0;
    for (size_t i = begin; i < end; ++i) {
      own[found] = numbers[i];
      found += part_of(numbers[i]) == part;
    }
    visit(static_cast<const Number *>(own), found);
  }
}

}  // namespace simjoin
