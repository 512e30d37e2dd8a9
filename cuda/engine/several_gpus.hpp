// Several GPUs share the comparisons of a join. Each has a copy of all sets, and takes the next range of
// probes when it has compared one.
#pragma once

#include <vector>

#include "core/base/worker_pool.hpp"
#include "cuda/engine/compared_sets.hpp"
#include "cuda/engine/range_work.hpp"
#include "cuda/filters/pair_sink.hpp"

namespace simjoin::gpu {

// Compares all ranges on the GPU of `first`, which has the sets, and on others if that is faster. Their pairs
// go to `sink`. A GPU that cannot be used, or has too little memory, takes
// no part. Throws Cancelled.
void compare_ranges(const RangeWork &first, const std::vector<BitmapRange> &ranges, PairSink &sink,
                    const StopFlag &stop);

}  // namespace simjoin::gpu
