#include "cuda/graph/sums.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "core/base/ordered_sum.hpp"
#include "cuda/base/launch.cuh"

namespace simjoin::gpu {
namespace {

constexpr uint64_t lanes = sum_lanes;
constexpr uint64_t segment = sum_segment;
static_assert(warp_threads % lanes == 0);

// The lanes of one sum: adjacent lanes of a warp.
struct Group {
  uint64_t number;  // among all groups
  uint64_t groups;
  uint32_t lane;
  uint32_t mask;  // lanes of the group within the warp

  __device__ Group()
      : number((uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / lanes),
        groups(uint64_t{gridDim.x} * blockDim.x / lanes),
        lane(threadIdx.x % lanes),
        mask(((1u << lanes) - 1) << (threadIdx.x % warp_threads / lanes * lanes)) {}
};

// Returns to every lane the sum of value(i) for i in [begin, end), which is one segment at most.
template <typename Value>
__device__ double segment_sum_of(const Group &group, uint64_t begin, uint64_t end, Value value) {
  double sum = 0;
  for (uint64_t i = begin + group.lane; i < end; i += lanes) sum += value(i);
  for (uint32_t half = lanes / 2; half > 0; half /= 2) sum += __shfl_xor_sync(group.mask, sum, half);
  return sum;
}

// Reduces `count` sums of segments in place, in the order of sum_of_segments.
__device__ double reduce_segments(const Group &group, double *sums, uint64_t count) {
  while (count > 1) {
    const uint64_t segments = (count + segment - 1) / segment;
    for (uint64_t s = 0; s < segments; ++s) {
      const uint64_t end = min((s + 1) * segment, count);
      const double sum = segment_sum_of(group, s * segment, end, [=](uint64_t i) { return sums[i]; });
      __syncwarp(group.mask);
      if (group.lane == 0) sums[s] = sum;
      __syncwarp(group.mask);
    }
    count = segments;
  }
  return sums[0];
}

// The summand of a list's entry.
struct EntryValue {
  const uint32_t *targets;
  const double *weights;
  const double *vector;

  __device__ double operator()(uint64_t i) const {
    if (vector == nullptr) return weights[i];
    const double value = vector[targets[i]];
    return weights == nullptr ? value : weights[i] * value;
  }
};

__global__ void sum_short_lists(const uint64_t *offsets, uint64_t nodes, EntryValue value, double *sums) {
  const Group group;
  for (uint64_t node = group.number; node < nodes; node += group.groups) {
    const uint64_t begin = offsets[node], end = offsets[node + 1];
    if (end - begin > segment) continue;
    const double sum = segment_sum_of(group, begin, end, value);
    if (group.lane == 0) sums[node] = sum;
  }
}

__global__ void sum_segments(const uint64_t *begins, const uint64_t *ends, uint64_t count, EntryValue value,
                             double *partial) {
  const Group group;
  for (uint64_t s = group.number; s < count; s += group.groups) {
    const double sum = segment_sum_of(group, begins[s], ends[s], value);
    if (group.lane == 0) partial[s] = sum;
  }
}

__global__ void sum_long_lists(const uint32_t *nodes, const uint64_t *first_segments, uint64_t count,
                               double *partial, double *sums) {
  const Group group;
  for (uint64_t i = group.number; i < count; i += group.groups) {
    const double sum =
        reduce_segments(group, partial + first_segments[i], first_segments[i + 1] - first_segments[i]);
    if (group.lane == 0) sums[nodes[i]] = sum;
  }
}

__global__ void find_long_lists(const uint64_t *offsets, uint64_t nodes, uint32_t *found, uint64_t room,
                                unsigned long long *count) {
  SIMJOIN_GRID_STRIDE(node, nodes) {
    if (offsets[node + 1] - offsets[node] <= segment) continue;
    const unsigned long long place = atomicAdd(count, 1ull);
    if (place < room) found[place] = static_cast<uint32_t>(node);
  }
}

__global__ void gather_bounds(const uint64_t *offsets, const uint32_t *nodes, uint64_t count,
                              ulonglong2 *bounds) {
  SIMJOIN_GRID_STRIDE(i, count) bounds[i] = {offsets[nodes[i]], offsets[nodes[i] + 1]};
}

template <typename Value>
__global__ void sum_vector(uint64_t count, Value value, double *partial) {
  const Group group;
  for (uint64_t s = group.number; s * segment < count; s += group.groups) {
    const double sum = segment_sum_of(group, s * segment, min((s + 1) * segment, count), value);
    if (group.lane == 0) partial[s] = sum;
  }
}

struct Entry {
  const double *vector;
  __device__ double operator()(uint64_t i) const { return vector[i]; }
};
struct Product {
  const double *a, *b;
  __device__ double operator()(uint64_t i) const { return a[i] * b[i]; }
};
struct Difference {
  const double *a, *b;
  __device__ double operator()(uint64_t i) const { return fabs(a[i] - b[i]); }
};
struct WithoutList {
  const uint64_t *offsets;
  const double *vector;
  __device__ double operator()(uint64_t i) const { return offsets[i + 1] == offsets[i] ? vector[i] : 0.0; }
};

// Numbers that are not negative sort as their bits.
__global__ void find_largest_ratio(const double *numerator, const double *denominator, uint64_t count,
                                   unsigned long long *largest) {
  double ratio = 0;
  SIMJOIN_GRID_STRIDE(i, count) {
    const double other = numerator[i] / denominator[i];
    if (other > ratio) ratio = other;
  }
  auto bits = static_cast<unsigned long long>(__double_as_longlong(ratio));
  for (int half = warp_threads / 2; half > 0; half /= 2)
    bits = max(bits, __shfl_xor_sync(0xFFFFFFFFu, bits, half));
  if (threadIdx.x % warp_threads == 0) atomicMax(largest, bits);
}

}  // namespace

ListSums::ListSums(Device &device, const DeviceGraph &graph) : device_(device), graph_(graph) {
  const uint64_t room = graph.entries() / segment;
  DeviceBuffer<uint32_t> found(device, room);
  DeviceBuffer<unsigned long long> number(device, 1);
  number.fill(0);
  launch(device, find_long_lists, blocks_for(device, graph.nodes), graph.offsets.data(),
         uint64_t{graph.nodes}, found.data(), room, number.data());
  long_lists_ = read_value(device, number.data());
  if (long_lists_ == 0) return;
  DeviceBuffer<ulonglong2> found_bounds(device, long_lists_);
  launch(device, gather_bounds, blocks_for(device, long_lists_), graph.offsets.data(), found.data(),
         uint64_t{long_lists_}, found_bounds.data());
  std::vector<uint32_t> nodes(long_lists_);
  std::vector<ulonglong2> bounds(long_lists_);
  copy_to_host(device, nodes.data(), found.data(), long_lists_);
  copy_to_host(device, bounds.data(), found_bounds.data(), long_lists_);
  device.synchronize();
  std::vector<uint64_t> begins, ends, firsts;
  for (const ulonglong2 &list : bounds) {
    firsts.push_back(begins.size());
    for (uint64_t begin = list.x; begin < list.y; begin += segment) {
      begins.push_back(begin);
      ends.push_back(std::min<uint64_t>(begin + segment, list.y));
    }
  }
  firsts.push_back(begins.size());
  segments_ = begins.size();
  const auto put = [&](auto &to, const auto &from) {
    to = std::decay_t<decltype(to)>(device, from.size());
    copy_to_device(device, to.data(), from.data(), from.size());
  };
  put(long_nodes_, nodes);
  put(segment_begins_, begins);
  put(segment_ends_, ends);
  put(long_segments_, firsts);
  partial_ = DeviceBuffer<double>(device, segments_);
  device.synchronize();  // the arrays of the host end here
}

void ListSums::add_up(const double *vector, double *sums) {
  const EntryValue value{graph_.targets.data(), graph_.weights.data(), vector};
  launch(device_, sum_short_lists, blocks_for(device_, graph_.nodes, lanes), graph_.offsets.data(),
         uint64_t{graph_.nodes}, value, sums);
  if (long_lists_ == 0) return;
  launch(device_, sum_segments, blocks_for(device_, segments_, lanes), segment_begins_.data(),
         segment_ends_.data(), uint64_t{segments_}, value, partial_.data());
  launch(device_, sum_long_lists, blocks_for(device_, long_lists_, lanes), long_nodes_.data(),
         long_segments_.data(), uint64_t{long_lists_}, partial_.data(), sums);
}

VectorSums::VectorSums(Device &device, size_t count)
    : device_(device), count_(count), partial_(device, 2 * segments_of(count) + 2), largest_(device, 1) {}

template <typename Value>
double VectorSums::sum(Value value) {
  if (count_ == 0) return 0;
  double *sums = partial_.data(), *other = sums + segments_of(count_) + 1;
  uint64_t left = segments_of(count_);
  launch(device_, sum_vector<Value>, blocks_for(device_, left, lanes), uint64_t{count_}, value, sums);
  while (left > 1) {
    launch(device_, sum_vector<Entry>, blocks_for(device_, segments_of(left), lanes), left, Entry{sums},
           other);
    left = segments_of(left);
    std::swap(sums, other);
  }
  return read_value(device_, sums);
}

double VectorSums::total(const double *vector) {
  return sum(Entry{vector});
}
double VectorSums::dot(const double *a, const double *b) {
  return sum(Product{a, b});
}
double VectorSums::distance(const double *a, const double *b) {
  return sum(Difference{a, b});
}
double VectorSums::without_list(const uint64_t *offsets, const double *vector) {
  return sum(WithoutList{offsets, vector});
}

double VectorSums::largest_ratio(const double *numerator, const double *denominator) {
  largest_.fill(0);
  launch(device_, find_largest_ratio, blocks_for(device_, count_), numerator, denominator, uint64_t{count_},
         largest_.data());
  return std::bit_cast<double>(read_value(device_, largest_.data()));
}

}  // namespace simjoin::gpu
