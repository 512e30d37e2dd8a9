// What two texts begin and end with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "core/base/interruption.hpp"

namespace simjoin {

// Leaves out what both texts begin and end with.
template <typename Character>
void trim_common(std::span<const Character> *a, std::span<const Character> *b) {
  size_t same = 0, most = std::min(a->size(), b->size());
  while (same < most && (*a)[same] == (*b)[same]) check_interruption_at(same++);
  *a = a->subspan(same);
  *b = b->subspan(same);
  most -= same;
  same = 0;
  while (same < most && (*a)[a->size() - same - 1] == (*b)[b->size() - same - 1])
    check_interruption_at(same++);
  *a = a->first(a->size() - same);
  *b = b->first(b->size() - same);
}

}  // namespace simjoin
