// Sums over the neighbors of each node and over all nodes, in the order of core/base/ordered_sum.hpp.
#pragma once

#include <cstdint>

#include "cuda/base/device.hpp"
#include "cuda/graph/edges.hpp"

namespace simjoin::gpu {

// Sums over the lists of all nodes. Long lists are cut into segments, so that the work is even.
class ListSums {
 public:
  ListSums(Device &device, const DeviceGraph &graph);

  // Sets sums[node] to the sum of weight * vector[neighbor] over the node's list. If `vector` is null, it
  // sums the weights alone.
  void add_up(const double *vector, double *sums);

 private:
  Device &device_;
  const DeviceGraph &graph_;
  size_t segments_ = 0;  // segments of long lists
  size_t long_lists_ = 0;
  DeviceBuffer<uint64_t> segment_begins_;
  DeviceBuffer<uint64_t> segment_ends_;
  DeviceBuffer<uint32_t> long_nodes_;
  DeviceBuffer<uint64_t> long_segments_;  // first segment of each long list, then the number of segments
  DeviceBuffer<double> partial_;
};

// Sums over vectors of `count` entries.
class VectorSums {
 public:
  VectorSums(Device &device, size_t count);

  double total(const double *vector);
  double dot(const double *a, const double *b);
  // Returns the sum of absolute differences.
  double distance(const double *a, const double *b);
  // Returns the sum over nodes whose list is empty.
  double without_list(const uint64_t *offsets, const double *vector);
  // Returns the largest ratio of entries, at least 0.
  double largest_ratio(const double *numerator, const double *denominator);

 private:
  template <typename Value>
  double sum(Value value);

  Device &device_;
  const size_t count_;
  DeviceBuffer<double> partial_;
  DeviceBuffer<unsigned long long> largest_;
};

}  // namespace simjoin::gpu
