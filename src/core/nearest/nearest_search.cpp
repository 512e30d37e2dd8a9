#include "core/nearest/nearest_search.hpp"

#include <span>

namespace simjoin {

StepResult NearestSearch::step(std::chrono::microseconds, Batch &out) {
  out.clear();
  if (best_.done()) return StepResult::done;
  best_.begin_search();
  search();
  const std::span<const ScoredPair> pairs = best_.give();
  for (const ScoredPair &pair : pairs) push(pair, out);
  stats_.output += pairs.size();
  return pairs.empty() ? StepResult::done : StepResult::batch;
}

JoinStats NearestSearch::stats() const {
  JoinStats stats = stats_;
  stats.memory_peak = memory_.peak();
  return stats;
}

}  // namespace simjoin
