// Which parts of a distributed join a set goes to, so that each pair of similar sets meets in one part.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/measure.hpp"

namespace simjoin {

// Returns the group, from 0 to `groups` - 1, of an id. It is the same on every machine and for good.
uint32_t group_of_id(int64_t id, uint32_t groups);

// Returns the numbers of parts, ascending, for which a perfect difference set is known here (Singer, 1938).
std::span<const uint32_t> part_numbers_by_id();

// Returns a perfect difference set for `parts` parts: group g of the ids goes to the parts (g + d) mod
// `parts`, one for each member d. Throws Error invalid_argument if there is no such set.
std::span<const uint16_t> difference_set(int64_t parts);

// Returns the place of a set with this number of distinct tokens in the order by size.
int64_t place_by_size(uint32_t size, int64_t id);

// The sets of one size, and how many there are.
struct SizeCount {
  uint32_t size;
  double count;
};

// Returns the `parts` - 1 places, ascending, that cut the order by size so that all parts have about the same
// number of tokens. A size may be there more than once.
std::vector<int64_t> cuts_by_size(std::vector<SizeCount> sizes, uint32_t parts);

// Parts first to last; home is one of them.
struct PartRange {
  uint32_t home;
  uint32_t first;
  uint32_t last;
};

// Returns the parts that a set goes to so that it meets its partners within the bounds that come after it;
// with `both_sides` all its partners. An empty set has only its home. The cuts are ascending.
PartRange parts_by_size(uint32_t size, int64_t id, const Bounds &bounds, std::span<const int64_t> cuts,
                        bool both_sides);

}  // namespace simjoin
