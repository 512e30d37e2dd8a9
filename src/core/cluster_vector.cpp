#include "core/cluster_vector.hpp"

#include <algorithm>
#include <cmath>

namespace simjoin {
namespace {

// Weights of a document are first put in proportion to the largest one, which becomes this.
constexpr double largest_raw = uint64_t{1} << 31;
constexpr double one = uint64_t{1} << weight_bits;

}  // namespace

uint32_t similarity_at_least(double threshold) {
  return static_cast<uint32_t>(std::ceil(std::ldexp(threshold, similarity_bits)));
}

size_t make_unit_vector(std::span<const TermSum> sums, TermWeight *to) {
  unsigned __int128 squares = 0;
  for (const TermSum &sum : sums) squares += static_cast<unsigned __int128>(sum.sum) * sum.sum;
  const double norm = std::sqrt(static_cast<double>(squares));
  size_t count = 0;
  for (const TermSum &sum : sums) {
    const double weight = static_cast<double>(sum.sum) * one / norm;
    to[count] = {sum.term, static_cast<uint32_t>(std::llrint(weight))};
    count += to[count].weight != 0;
  }
  return count;
}

size_t make_document_vector(std::span<RawTerm> terms, const StopFlag &stop, TermWeight *to) {
  // By term, and by weight among equal ones: their sum then does not depend on the order of the input.
  std::sort(terms.begin(), terms.end(), [&](const RawTerm &a, const RawTerm &b) {
    stop.check();
    return a.term < b.term || (a.term == b.term && a.weight < b.weight);
  });
  std::vector<double> weights;
  weights.reserve(terms.size());
  std::vector<TermSum> sums;
  sums.reserve(terms.size());
  double largest = 0;
  for (const RawTerm &term : terms) {
    if (sums.empty() || sums.back().term != term.term) {
      sums.push_back({term.term, 0});
      weights.push_back(0);
    }
    weights.back() += static_cast<double>(term.weight);
    largest = std::max(largest, weights.back());
  }
  if (largest == 0) return 0;
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i].sum = static_cast<uint64_t>(std::llrint(weights[i] / largest * largest_raw));
  return make_unit_vector(sums, to);
}

}  // namespace simjoin
