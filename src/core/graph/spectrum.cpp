#include "core/graph/spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "core/base/ordered_sum.hpp"
#include "core/base/parallel_ranges.hpp"

namespace simjoin {
namespace {

constexpr size_t nodes_per_range = size_t{1} << 12;

class PowerMethod {
 public:
  PowerMethod(const Graph &graph, WorkerPool &pool, MemoryCounter &memory)
      : graph_(graph), pool_(pool), memory_(memory), product_(memory, graph.node_count()) {}

  double dot(const Buffer<double> &a, const Buffer<double> &b) {
    return parallel_sum(pool_, a.size(), memory_, [&](size_t i) { return a[i] * b[i]; });
  }

  // Makes the vector's length 1. Returns false if it is 0.
  bool normalize(Buffer<double> &vector) {
    const double length = std::sqrt(dot(vector, vector));
    if (!(length > 0)) return false;
    for_entries([&](size_t i) { vector[i] /= length; });
    return true;
  }

  // Returns matrix * vector, valid until the next call.
  const Buffer<double> &multiply(const Buffer<double> &vector) {
    for_ranges(pool_, vector.size(), nodes_per_range, [&](size_t begin, size_t end) {
      for (size_t node = begin; node < end; ++node) {
        const size_t first = graph_.offsets[node], count = graph_.offsets[node + 1] - first;
        product_[node] = ordered_sum(count, pool_.stop(), [&](size_t i) {
          return graph_.weight(first + i) * vector[graph_.targets[first + i]];
        });
      }
    });
    return product_;
  }

  // Replaces the vector by (matrix + shift) * vector.
  void step(Buffer<double> &vector, double shift) {
    const Buffer<double> &product = multiply(vector);
    for_entries([&](size_t i) { vector[i] = product[i] + shift * vector[i]; });
  }

  // Returns the largest ratio of an entry of matrix * vector to the entry of the vector. If the vector is
  // positive, this is an upper bound of all eigenvalues (Collatz, Wielandt).
  double largest_ratio(const Buffer<double> &vector) {
    const Buffer<double> &product = multiply(vector);
    std::mutex mutex;
    double ratio = 0;
    for_ranges(pool_, vector.size(), entries_per_range, [&](size_t begin, size_t end) {
      double largest = 0;
      for (size_t i = begin; i < end; ++i) largest = std::max(largest, product[i] / vector[i]);
      const std::lock_guard lock(mutex);
      ratio = std::max(ratio, largest);
    });
    return ratio;
  }

  // Calls body(i) for each entry of a vector, in parallel.
  template <typename Body>
  void for_entries(Body &&body) {
    for_ranges(pool_, graph_.node_count(), entries_per_range, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) body(i);
    });
  }

 private:
  const Graph &graph_;
  WorkerPool &pool_;
  MemoryCounter &memory_;
  Buffer<double> product_;
};

}  // namespace

Spectrum leading_eigenvectors(const Graph &graph, WorkerPool &pool, MemoryCounter &memory) {
  PowerMethod method(graph, pool, memory);
  Spectrum result(memory);
  fill(result.first, graph.node_count(), 1.0, pool);
  method.normalize(result.first);
  result.second.resize(graph.node_count());
  method.for_entries([&](size_t i) { result.second[i] = second_start(i); });
  double bound = method.largest_ratio(result.first);
  for (int iteration = 0; iteration < spectrum_iterations && bound > 0; ++iteration) {
    // The shift keeps the eigenvalues near -bound, which bipartite parts have, from winning.
    const double shift = bound / 2;
    method.step(result.first, shift);
    method.normalize(result.first);
    method.for_entries([&](size_t i) { result.first[i] = std::max(result.first[i], least_entry); });
    bound = std::min(bound, method.largest_ratio(result.first));
    method.step(result.second, shift);
    // Removes the component along the first vector.
    const double along = method.dot(result.first, result.second);
    method.for_entries([&](size_t i) { result.second[i] -= along * result.first[i]; });
    if (!method.normalize(result.second)) break;
  }
  result.radius_bound = bound;
  return result;
}

}  // namespace simjoin
