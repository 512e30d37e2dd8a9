// Sums over the neighbors of each node and over all nodes, in the order of core/base/ordered_sum.hpp.
#pragma once

#include <cstdint>

#include "cuda/base/device.hpp"
#include "cuda/graph/edges.hpp"

namespace simjoin::gpu {

// Adds up over lists; long ones are cut into segments of their own, so that work is even.
class ListSums {
 public:
  ListSums(Device &device, const DeviceGraph &graph);

  // sums[node] = the sum of weight * vector[neighbor] over the node's list; of the weights alone where
  // `vector` is null.
  void add_up(const double *vector, double *sums);

 private:
  Device &device_;
  const DeviceGraph &graph_;
  size_t segments_ = 0;  // of long lists
  size_t long_lists_ = 0;
  DeviceBuffer<uint64_t> segment_begins_;
  DeviceBuffer<uint64_t> segment_ends_;
  DeviceBuffer<uint32_t> long_nodes_;
  DeviceBuffer<uint64_t> long_segments_;  // where each long list's segments begin; one more than there are
  DeviceBuffer<double> partial_;
};

// Adds up over vectors of one length.
class VectorSums {
 public:
  VectorSums(Device &device, size_t count);

  double total(const double *vector);
  double dot(const double *a, const double *b);
  // The sum of absolute differences.
  double distance(const double *a, const double *b);
  // The sum over nodes whose list is empty.
  double without_list(const uint64_t *offsets, const double *vector);
  // The largest ratio of entries, at least 0.
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
