// Sorting of numbers that are spread evenly, such as the hashes of one text.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simjoin {

// Sorts the numbers ascending, in their place. `room` is for as many. Numbers of any kind are sorted, but
// those that are not even are faster by ShortSort.
void sort_hashes(uint32_t *numbers, size_t count, uint32_t *room);
void sort_hashes(uint64_t *numbers, size_t count, uint64_t *room);

}  // namespace simjoin
