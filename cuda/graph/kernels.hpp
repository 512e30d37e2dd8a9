// The kernels of graph functions, each behind a host function.
#pragma once

#include <cstdint>

#include "cuda/base/device.hpp"
#include "cuda/graph/edges.hpp"

namespace simjoin::gpu {

// Disjoint sets of the nodes' ranks.
class DeviceSets {
 public:
  DeviceSets(Device &device, uint32_t nodes);

  // Parents for kernels that unite sets themselves (cuda/graph/disjoint_sets.cuh).
  uint32_t *parents() { return parents_.data(); }
  // Unites the ends of edges [begin, end).
  void unite(const RankedEdges &ranked, uint64_t begin, uint64_t end);
  // Makes every node point to the smallest node of its set.
  void flatten();
  // Sets names[node] to the smallest node of its set. Call flatten() before.
  void name(const DeviceBuffer<int64_t> &nodes, int64_t *names);

 private:
  Device &device_;
  DeviceBuffer<uint32_t> parents_;
};

// Divides the weights of each list by their sum. Returns whether all sums are finite.
bool normalize_weights(Device &device, DeviceGraph &graph);
// Sets cumulative[i] to the sum of the weights of i's list up to i.
void accumulate_weights(Device &device, const DeviceGraph &graph, double *cumulative);

// Sets sent[node] to the rank that the node sends along each edge or, if `weighted`, in all.
void send_ranks(Device &device, const uint64_t *offsets, uint32_t nodes, bool weighted, const double *ranks,
                double *sent);
// next[node] = base + damping * next[node].
void damp_ranks(Device &device, uint32_t nodes, double base, double damping, double *next);

// Random walks, one per thread.
class WalkLanes {
 public:
  WalkLanes(Device &device, uint64_t coupons, uint64_t seed);

  // Continues every walk for some milliseconds. Returns whether all walks have ended.
  bool walk(const DeviceGraph &graph, const double *cumulative, double damping, uint32_t coupons_per_node,
            unsigned long long *visits);

 private:
  Device &device_;
  const uint64_t coupons_;
  const uint64_t seed_;
  unsigned blocks_;
  // The coupon that each thread moves; beyond all coupons if it has none.
  DeviceBuffer<uint64_t> coupon_;
  DeviceBuffer<uint64_t> state_;
  DeviceBuffer<uint32_t> node_;
  DeviceBuffer<uint32_t> going_on_;
  uint32_t steps_ = 0;  // of the next launch; 0 before the first one
};
// Sets shares[node] to visits[node] / all.
void share_visits(Device &device, const unsigned long long *visits, uint32_t nodes, double all,
                  double *shares);
// Returns the sum of the visits.
uint64_t add_up_visits(Device &device, const unsigned long long *visits, uint32_t nodes);

// Entries of a vector, in this order: become `value`; become the start of the second eigenvector; are divided
// by `length`; vector = product + shift * vector; are raised to at least `least`; vector -= along * axis.
void set_entries(Device &device, double *vector, uint32_t count, double value);
void start_second(Device &device, double *vector, uint32_t count);
void divide_entries(Device &device, double *vector, uint32_t count, double length);
void add_shifted(Device &device, double *vector, uint32_t count, const double *product, double shift);
void raise_entries(Device &device, double *vector, uint32_t count, double least);
void take_out(Device &device, double *vector, uint32_t count, double along, const double *axis);

}  // namespace simjoin::gpu
