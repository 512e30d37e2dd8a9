#include "core/clusters/cluster_sums.hpp"

#include <algorithm>
#include <functional>

namespace simjoin {
namespace {

// Returns the sum of two sums of a term. In any order of many, the result is the same.
uint64_t added(uint64_t a, uint64_t b) {
  return std::min(a + b, largest_sum);
}

}  // namespace

void SumOrder::copy_by_weight(std::span<const TermSum> sums, TermSum *to) const {
  std::copy(sums.begin(), sums.end(), to);
  std::sort(to, to + sums.size(), [this](const TermSum &a, const TermSum &b) {
    return a.sum > b.sum || (a.sum == b.sum && before(a.term, b.term));
  });
}

void ClusterSum::set(std::span<const TermWeight> document) {
  sums_.clear();
  append(document);
}

void ClusterSum::append(std::span<const TermWeight> document) {
  for (const TermWeight &entry : document) sums_.push_back({entry.term, entry.weight});
}

void ClusterSum::add(std::span<const TermWeight> document) {
  scratch_.resize(sums_.size() + document.size());
  TermSum *to = scratch_.data();
  const TermSum *at = sums_.data(), *const end = at + sums_.size();
  for (const TermWeight &entry : document) {
    for (; at != end && at->term < entry.term; ++at) *to++ = *at;
    uint64_t sum = entry.weight;
    if (at != end && at->term == entry.term) sum = added(sum, at++->sum);
    *to++ = {entry.term, sum};
  }
  to = std::copy(at, end, to);
  scratch_.resize(static_cast<size_t>(to - scratch_.data()));
  scratch_.swap(sums_);
}

void ClusterSum::combine(const StopFlag &stop) {
  const auto before = [](const TermSum &a, const TermSum &b) { return a.term < b.term; };
  if (sums_.size() <= terms_without_look) {
    std::sort(sums_.begin(), sums_.end(), before);
  } else {
    std::sort(sums_.begin(), sums_.end(), [&](const TermSum &a, const TermSum &b) {
      stop.check();
      return before(a, b);
    });
  }
  size_t count = 0;
  for (const TermSum &sum : sums_) {
    if (count > 0 && sums_[count - 1].term == sum.term) {
      sums_[count - 1].sum = added(sums_[count - 1].sum, sum.sum);
    } else {
      sums_[count++] = sum;
    }
  }
  sums_.resize(count);
}

// Finds the weight above which terms stay, so that these need no sorting. Of the terms with exactly this
// weight, as many stay as there is room for.
void ClusterSum::cut() {
  const size_t most = order_.max_terms();
  if (sums_.size() <= most) return;
  values_.clear();
  for (const TermSum &sum : sums_) values_.push_back(sum.sum);
  std::nth_element(values_.begin(), values_.begin() + static_cast<ptrdiff_t>(most - 1), values_.end(),
                   std::greater<>());
  const uint64_t least = values_[most - 1];
  size_t heavier = 0;
  ties_.clear();
  for (const TermSum &sum : sums_) {
    heavier += sum.sum > least;
    if (sum.sum == least) ties_.push_back(sum.term);
  }
  const auto before = [this](uint32_t a, uint32_t b) { return order_.before(a, b); };
  const auto last = ties_.begin() + static_cast<ptrdiff_t>(most - heavier - 1);
  const bool all = last + 1 == ties_.end();
  if (!all) std::nth_element(ties_.begin(), last, ties_.end(), before);
  std::erase_if(sums_, [&](const TermSum &sum) {
    return sum.sum < least || (!all && sum.sum == least && before(*last, sum.term));
  });
}

void ClusterSum::finish() {
  cut();
  centroid_.resize(sums_.size());
  centroid_.resize(make_unit_vector(sums_, centroid_.data()));
}

}  // namespace simjoin
