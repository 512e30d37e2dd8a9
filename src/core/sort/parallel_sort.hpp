// Sorting of large key arrays on all workers, in pieces so small that the sort can be abandoned at any time.
#pragma once

#include <hwy/base.h>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"

namespace simjoin {

using SortKey = hwy::uint128_t;

// Sorts the keys ascending (sample sort over VQSort). Fast if few keys are equal. `scratch` gets room for a
// second copy of the keys, so that sorts one after the other touch no new memory.
void sort_keys(Buffer<SortKey> &keys, Buffer<SortKey> &scratch, WorkerPool &pool, MemoryCounter &memory);

// The same with room that goes back at the end.
inline void sort_keys(Buffer<SortKey> &keys, WorkerPool &pool, MemoryCounter &memory) {
  Buffer<SortKey> scratch(memory);
  sort_keys(keys, scratch, pool, memory);
}

}  // namespace simjoin
