#include "core/graph/spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "core/base/ordered_sum.hpp"
#include "core/base/parallel_ranges.hpp"

namespace simjoin {
namespace {

constexpr size_t nodes_per_range = size_t{1} << 12;

// A node's entries of both vectors, which are fetched together.
struct Entries {
  double first;
  double second;

  Entries &operator+=(const Entries &other) {
    first += other.first;
    second += other.second;
    return *this;
  }
};

class PowerMethod {
 public:
  PowerMethod(const Graph &graph, WorkerPool &pool, MemoryCounter &memory)
      : graph_(graph),
        pool_(pool),
        memory_(memory),
        entries_(memory, graph.node_count()),
        products_(memory, graph.node_count()) {}

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

  // Multiplies both vectors by the matrix, in one pass over the edges.
  void multiply(const Buffer<double> &first, const Buffer<double> &second) {
    for_entries([&](size_t i) { entries_[i] = {first[i], second[i]}; });
    for_ranges(pool_, graph_.node_count(), nodes_per_range, [&](size_t begin, size_t end) {
      for (size_t node = begin; node < end; ++node) {
        const size_t at = graph_.offsets[node], count = graph_.offsets[node + 1] - at;
        products_[node] = ordered_sum<Entries>(count, pool_.stop(), [&](size_t i) {
          const Entries entries = entries_[graph_.targets[at + i]];
          const double weight = graph_.weight(at + i);
          return Entries{weight * entries.first, weight * entries.second};
        });
      }
    });
  }
  const Buffer<Entries> &products() const { return products_; }

  // Returns the largest ratio of an entry of matrix * first to the entry of `first`, which was multiplied
  // last. If the vector is positive, this is an upper bound of all eigenvalues (Collatz, Wielandt).
  double largest_ratio(const Buffer<double> &first) {
    std::mutex mutex;
    double ratio = 0;
    for_ranges(pool_, first.size(), entries_per_range, [&](size_t begin, size_t end) {
      double largest = 0;
      for (size_t i = begin; i < end; ++i) largest = std::max(largest, products_[i].first / first[i]);
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
  Buffer<Entries> entries_;
  Buffer<Entries> products_;
};

}  // namespace

Spectrum leading_eigenvectors(const Graph &graph, WorkerPool &pool, MemoryCounter &memory) {
  PowerMethod method(graph, pool, memory);
  Spectrum result(memory);
  fill(result.first, graph.node_count(), 1.0, pool);
  method.normalize(result.first);
  result.second.resize(graph.node_count());
  method.for_entries([&](size_t i) { result.second[i] = second_start(i); });
  const Buffer<Entries> &products = method.products();
  method.multiply(result.first, result.second);
  double bound = method.largest_ratio(result.first);
  for (int iteration = 0; iteration < spectrum_iterations && bound > 0; ++iteration) {
    // The shift keeps the eigenvalues near -bound, which bipartite parts have, from winning.
    const double shift = bound / 2;
    method.for_entries([&](size_t i) {
      result.first[i] = products[i].first + shift * result.first[i];
      result.second[i] = products[i].second + shift * result.second[i];
    });
    method.normalize(result.first);
    method.for_entries([&](size_t i) { result.first[i] = std::max(result.first[i], least_entry); });
    // Removes the component along the first vector.
    const double along = method.dot(result.first, result.second);
    method.for_entries([&](size_t i) { result.second[i] -= along * result.first[i]; });
    const bool goes_on = method.normalize(result.second);
    method.multiply(result.first, result.second);
    bound = std::min(bound, method.largest_ratio(result.first));
    if (!goes_on) break;
  }
  result.radius_bound = bound;
  return result;
}

}  // namespace simjoin
