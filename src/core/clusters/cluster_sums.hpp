// The part of its documents that a cluster keeps: the sum of their unit vectors, cut to the heaviest terms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/worker_pool.hpp"
#include "core/clusters/cluster_vector.hpp"
#include "core/text/terms.hpp"

namespace simjoin {

// The cut of sums: the number of terms, and the order of terms with equal sums.
class SumOrder {
 public:
  SumOrder(const TermTable &terms, uint32_t max_terms) : terms_(&terms), max_terms_(max_terms) {}

  uint32_t max_terms() const { return max_terms_; }
  bool before(uint32_t a, uint32_t b) const { return terms_->before(a, b); }
  // Writes the sums, heaviest first, to `to`.
  void copy_by_weight(std::span<const TermSum> sums, TermSum *to) const;

 private:
  const TermTable *terms_;
  uint32_t max_terms_;
};

// A thread's cluster while it is made. Terms of sums and documents ascend.
class ClusterSum {
 public:
  explicit ClusterSum(const SumOrder &order) : order_(order) {}

  std::span<const TermSum> sums() const { return sums_; }
  std::span<const TermWeight> centroid() const { return centroid_; }

  void set(std::span<const TermSum> sums) { sums_.assign(sums.begin(), sums.end()); }
  void set(std::span<const TermWeight> document);
  // Adds a document. No term gets more than the largest sum.
  void add(std::span<const TermWeight> document);
  // The same for many: appends what is to be added, and adds it up.
  void append(std::span<const TermSum> sums) { sums_.insert(sums_.end(), sums.begin(), sums.end()); }
  void append(std::span<const TermWeight> document);
  // Throws Cancelled.
  void combine(const StopFlag &stop);
  // Cuts the sum to the heaviest terms, and makes the centroid of it.
  void finish();

 private:
  void cut();

  SumOrder order_;
  std::vector<TermSum> sums_;
  std::vector<TermSum> scratch_;
  std::vector<uint64_t> values_;  // of cut()
  std::vector<uint32_t> ties_;
  std::vector<TermWeight> centroid_;
};

}  // namespace simjoin
