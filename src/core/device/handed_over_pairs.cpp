#include "core/device/handed_over_pairs.hpp"

#include <algorithm>

#include "core/base/check.hpp"

namespace simjoin {
namespace {

uint64_t packed(uint32_t left, uint32_t right) {
  return uint64_t{left} << 32 | right;
}

}  // namespace

bool HandedOverPairs::remember(const Batch &batch, size_t limit) {
  if (pairs_.size() * sizeof(uint64_t) > limit) {
    pairs_.release();
    return false;
  }
  for (size_t i = 0; i < batch.size(); ++i) pairs_.push_back(packed(batch.left[i], batch.right[i]));
  return true;
}

void HandedOverPairs::sort(const StopFlag &stop) {
  SIMJOIN_CHECK(!sorted_);
  sorted_ = true;
  std::sort(pairs_.begin(), pairs_.end(), [&stop](uint64_t a, uint64_t b) {
    stop.check();
    return a < b;
  });
}

void HandedOverPairs::drop_from(Batch &batch) const {
  SIMJOIN_CHECK(sorted_);
  size_t kept = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    const uint64_t pair = packed(batch.left[i], batch.right[i]);
    if (std::binary_search(pairs_.begin(), pairs_.end(), pair)) continue;
    batch.left[kept] = batch.left[i];
    batch.right[kept] = batch.right[i];
    batch.overlap[kept++] = batch.overlap[i];
  }
  batch.left.resize(kept);
  batch.right.resize(kept);
  batch.overlap.resize(kept);
}

}  // namespace simjoin
