// Sorting of large key arrays on all workers, in pieces so small that the sort can be abandoned at any time.
#pragma once

#include <hwy/base.h>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"

namespace simjoin {

using SortKey = hwy::uint128_t;

// Sorts the keys ascending (sample sort over VQSort). Fast if few keys are equal. Needs room for a second
// copy of the keys while it runs.
void sort_keys(Buffer<SortKey> &keys, WorkerPool &pool, MemoryCounter &memory);

}  // namespace simjoin
