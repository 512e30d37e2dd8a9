// The kernels of graph functions: one host function each.
#pragma once

#include <cstdint>

#include "cuda/base/device.hpp"
#include "cuda/graph/edges.hpp"

namespace simjoin::gpu {

// Disjoint sets of the ranks of nodes.
class DeviceSets {
 public:
  DeviceSets(Device &device, uint32_t nodes);

  // For kernels that unite sets themselves (cuda/graph/disjoint_sets.cuh).
  uint32_t *parents() { return parents_.data(); }
  // Unites the ends of edges [begin, end).
  void unite(const RankedEdges &ranked, uint64_t begin, uint64_t end);
  // Makes every node point to the smallest one of its set.
  void flatten();
  // names[node] = the smallest node of its set; after flatten().
  void name(const DeviceBuffer<int64_t> &nodes, int64_t *names);

 private:
  Device &device_;
  DeviceBuffer<uint32_t> parents_;
};

// Divides the weights of each list by their sum; returns whether all sums are finite.
bool normalize_weights(Device &device, DeviceGraph &graph);
// cumulative[i] = the sum of the weights of a list up to i, in its order.
void accumulate_weights(Device &device, const DeviceGraph &graph, double *cumulative);

// sent[node] = what a node sends along each edge; of a weighted graph, over all edges.
void send_ranks(Device &device, const uint64_t *offsets, uint32_t nodes, bool weighted, const double *ranks,
                double *sent);
// next[node] = base + damping * next[node].
void damp_ranks(Device &device, uint32_t nodes, double base, double damping, double *next);

// Walks that are under way, one a thread.
class WalkLanes {
 public:
  WalkLanes(Device &device, uint64_t coupons, uint64_t seed);

  // Lets every walk go on for some milliseconds; returns whether all have ended.
  bool walk(const DeviceGraph &graph, const double *cumulative, double damping, uint32_t coupons_a_node,
            unsigned long long *visits);

 private:
  Device &device_;
  const uint64_t coupons_;
  const uint64_t seed_;
  unsigned blocks_;
  DeviceBuffer<uint64_t> coupon_;  // that each thread moves; beyond all where it has none
  DeviceBuffer<uint64_t> state_;
  DeviceBuffer<uint32_t> node_;
  DeviceBuffer<uint32_t> going_on_;
  uint32_t steps_ = 0;  // of the next launch; none yet
};
// shares[node] = visits / all.
void share_visits(Device &device, const unsigned long long *visits, uint32_t nodes, double all,
                  double *shares);
// Returns the sum of the visits.
uint64_t add_up_visits(Device &device, const unsigned long long *visits, uint32_t nodes);

// Vectors: all entries become `value`; those that the second eigenvector begins with; are divided by
// `length`; vector = product + shift * vector; are raised to `least`; vector -= along * axis.
void set_entries(Device &device, double *vector, uint32_t count, double value);
void start_second(Device &device, double *vector, uint32_t count);
void divide_entries(Device &device, double *vector, uint32_t count, double length);
void add_shifted(Device &device, double *vector, uint32_t count, const double *product, double shift);
void raise_entries(Device &device, double *vector, uint32_t count, double least);
void take_out(Device &device, double *vector, uint32_t count, double along, const double *axis);

}  // namespace simjoin::gpu
