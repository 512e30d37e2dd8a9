#include "core/graph/rank_one_bound.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/base/ordered_sum.hpp"
#include "core/base/parallel_ranges.hpp"

namespace simjoin {
namespace {

constexpr size_t rows_per_range = 32;

// The lower triangle of a symmetric matrix, row by row.
class Triangle {
 public:
  Triangle(size_t size, MemoryCounter &memory) : entries_(memory, size * (size + 1) / 2) {}
  double *row(size_t i) { return entries_.data() + i * (i + 1) / 2; }

 private:
  Buffer<double> entries_;
};

// Makes `matrix` μ·I − A + λ·v·vᵀ.
void set_shifted(Triangle &matrix, const Graph &graph, const Buffer<double> &vector, double lambda, double mu,
                 WorkerPool &pool) {
  for_ranges(pool, graph.node_count(), rows_per_range, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      double *row = matrix.row(i);
      for (size_t j = 0; j <= i; ++j) row[j] = lambda * vector[i] * vector[j];
      row[i] += mu;
      for (size_t at = graph.offsets[i]; at < graph.offsets[i + 1]; ++at)
        if (graph.targets[at] < i) row[graph.targets[at]] -= graph.weight(at);
    }
  });
}

// Replaces the matrix by its Cholesky factor and returns true. Returns false if the matrix is not positive
// definite. Rounding can hide eigenvalues down to -(n + 1)·2^-53 times the trace.
bool factorize(Triangle &matrix, size_t size, WorkerPool &pool) {
  for (size_t column = 0; column < size; ++column) {
    double *pivot = matrix.row(column);
    const auto rest = [&](size_t i) {
      const double *row = matrix.row(i);
      return row[column] - segment_sum(column, [&](size_t j) { return row[j] * pivot[j]; });
    };
    const double square = rest(column);
    if (!(square > 0)) return false;
    pivot[column] = std::sqrt(square);
    for_ranges(pool, size - column - 1, 4 * rows_per_range, [&](size_t begin, size_t end) {
      for (size_t i = column + 1 + begin; i < column + 1 + end; ++i)
        matrix.row(i)[column] = rest(i) / pivot[column];
    });
  }
  return true;
}

// Returns xᵀ·A·x / xᵀ·x.
double rayleigh_quotient(const Graph &graph, const Buffer<double> &x) {
  double product = 0, square = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t at = graph.offsets[i]; at < graph.offsets[i + 1]; ++at)
      product += graph.weight(at) * x[graph.targets[at]] * x[i];
    square += x[i] * x[i];
  }
  return square > 0 ? product / square : 0;
}

double sum_of_largest(const Buffer<double> &values, size_t k, MemoryCounter &memory) {
  Buffer<double> sorted(memory, values.size());
  std::transform(values.begin(), values.end(), sorted.begin(), [](double value) { return std::abs(value); });
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double sum = 0;
  for (size_t i = 0; i < k; ++i) sum += sorted[i];
  return sum;
}

}  // namespace

double with_rank_one_bound(double bound, const Graph &graph, const Spectrum &spectrum, size_t k,
                           WorkerPool &pool, MemoryCounter &memory) {
  static_assert(most_nodes_of_rank_one_bound <= sum_segment);
  const size_t nodes = graph.node_count();
  if (nodes > most_nodes_of_rank_one_bound) return bound;
  const double largest = rayleigh_quotient(graph, spectrum.first);
  const double second = std::max(rayleigh_quotient(graph, spectrum.second), largest * 1e-3);
  const double lambda = std::max(largest - second, 0.0);
  const double sum = sum_of_largest(spectrum.first, k, memory);
  const double along = lambda * (sum * sum / static_cast<double>(k));
  // `second` is at most the second eigenvalue. What an estimate a little too small lacks is proved by the
  // next attempt.
  for (const double growth : {1.005, 1.02, 1.08, 1.32}) {
    const double mu = second * growth;
    if (!(mu + along < bound)) return bound;
    Triangle matrix(nodes, memory);
    set_shifted(matrix, graph, spectrum.first, lambda, mu, pool);
    if (factorize(matrix, nodes, pool)) return mu + along;
  }
  return bound;
}

}  // namespace simjoin
