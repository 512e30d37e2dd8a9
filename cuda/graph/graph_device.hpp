// Graph functions on one GPU, behind the interface of core/graph/graph_device.hpp. Callers need no CUDA
// header.
#pragma once

#include "core/graph/graph_device.hpp"

namespace simjoin {

GraphDevice &cuda_graphs();

}  // namespace simjoin
