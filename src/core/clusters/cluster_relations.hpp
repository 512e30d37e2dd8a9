// Which documents of a batch may meet in a cluster that one of them begins. Documents that cannot meet are
// clustered side by side.
//
// Say that document j joins, with a similarity of at least t, a cluster of the documents m = 1, 2, ... whose
// sum s has been cut after each. Its product with s is at least t |s|, and at most the sum of its products
// with all m. Call r(m), the reach of m, the least of the length of its cut vector and the threshold. The
// length |s| begins with r(1) at least, and grows by the threshold at least with each of the others: it
// would, were only the terms kept that s had before, and no other choice of as many terms is longer than the
// heaviest. So the product with one m at least is not below t r(m). A document is related to those before it
// for which that is so; those that no chain of relations connects cannot meet. (A cluster may still be
// similar to a document of another group that came before all of its own.)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/clusters/cluster_index.hpp"
#include "core/clusters/cluster_vector.hpp"

namespace simjoin {

// Returns the least product with a unit vector, in units of 2^-30, of a sum that is so similar: with slack
// for the rounding of a centroid of 65,535 terms.
SIMJOIN_HOST_DEVICE inline double least_product_with_sum(uint32_t similarity) {
  constexpr double rounding = 128;
  static_assert(max_centroid_terms <= 4 * rounding * rounding);
  const double length = least_shared_length(similarity) - rounding;
  return length > 0 ? length : 0;
}

// Returns the reach of a document, in units of 2^-30.
inline uint32_t reach_of(std::span<const TermWeight> document, uint32_t max_terms, uint32_t least,
                         std::vector<uint64_t> &scratch) {
  const double threshold = least_product_with_sum(least);
  if (document.size() <= max_terms) return static_cast<uint32_t>(threshold);
  scratch.clear();
  for (const TermWeight &entry : document) scratch.push_back(uint64_t{entry.weight} * entry.weight);
  std::nth_element(scratch.begin(), scratch.begin() + max_terms, scratch.end(), std::greater<>());
  double square = 0;
  for (size_t i = 0; i < max_terms; ++i) square += static_cast<double>(scratch[i]);
  constexpr double slack = 1 - 1e-5;
  return static_cast<uint32_t>(std::min(threshold, std::sqrt(square) * slack));
}

// Returns the similarity at which a document joins a cluster of its batch rather than the cluster found
// before.
SIMJOIN_HOST_DEVICE inline uint32_t least_newer(uint32_t least, FoundCluster found) {
  const uint32_t above = similarity_of(found) + 1;
  return above > least ? above : least;
}

// Returns the least product at which a document is related to an earlier one. `similarity` is its
// least_newer(), `reach` the reach of the earlier document.
SIMJOIN_HOST_DEVICE inline double least_related(uint32_t similarity, uint32_t reach) {
  return least_product_with_sum(similarity) * reach;
}

}  // namespace simjoin
