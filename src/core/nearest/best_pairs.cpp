#include "core/nearest/best_pairs.hpp"

#include "core/base/interruption.hpp"

namespace simjoin {
namespace {

// A caller that asks for more pairs than at first probably asks for many.
constexpr uint32_t growth = 4;

bool in_order(const ScoredPair &a, const ScoredPair &b) {
  return a.comes_before(b);
}

}  // namespace

bool BestPairs::keep(const ScoredPair &pair) {
  if (given_ && !given_->comes_before(pair)) return false;
  if (best_.size() == pairs_) {
    std::pop_heap(best_.begin(), best_.end(), in_order);
    best_.pop_back();
  }
  best_.push_back(pair);
  std::push_heap(best_.begin(), best_.end(), in_order);
  if (best_.size() < pairs_) return false;
  least_ = best_.front().score;
  before_row_ = best_.front().row;
  return true;
}

std::span<const ScoredPair> BestPairs::give() {
  std::sort(best_.begin(), best_.end(), interruptible(in_order));
  done_ = best_.size() < pairs_;
  if (!best_.empty()) given_ = best_.back();
  pairs_ = std::min(pairs_, UINT32_MAX / growth) * growth;
  return best_;
}

}  // namespace simjoin
