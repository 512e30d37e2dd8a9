// Numbers of items for CUB's algorithms.
#pragma once

#include <cstdint>
#include <cub/version.cuh>
#include <limits>
#include <type_traits>

#include "core/base/error.hpp"

namespace simjoin::gpu {

static_assert(CUB_VERSION >= 200300, "the CUB of CUDA 12.4 or a later one is needed");

// Before CUDA 13, many of CUB's algorithms count in int and silently truncate a larger number.
using CubCount = std::conditional_t<(CUB_VERSION >= 300000), int64_t, int>;

// Returns `items` as CUB's type. Throws limit_exceeded if that type cannot hold it.
inline CubCount cub_count(uint64_t items) {
  if (items > static_cast<uint64_t>(std::numeric_limits<CubCount>::max())) {
    throw Error(ErrorKind::limit_exceeded, "more than 2147483647 items, for which CUDA 13 is needed",
                "Build with CUDA 13, or set simjoin.device to cpu.");
  }
  return static_cast<CubCount>(items);
}

}  // namespace simjoin::gpu
