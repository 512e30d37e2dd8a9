#include "core/graph/components.hpp"

#include <algorithm>

#include "core/base/check.hpp"
#include "core/base/parallel_ranges.hpp"

namespace simjoin {
namespace {

constexpr size_t fetched_ahead = 16;  // edges whose sets are fetched before they are united
constexpr uint32_t none = UINT32_MAX;

}  // namespace

void DisjointSets::grow(uint32_t count) {
  while (parents_.size() < count) parents_.push_back(static_cast<uint32_t>(parents_.size()));
}

void DisjointSets::unite(uint32_t a, uint32_t b) {
  SIMJOIN_CHECK(a < parents_.size() && b < parents_.size());
  a = find(a);
  b = find(b);
  if (a < b) {
    parents_[b] = a;
  } else {
    parents_[a] = b;
  }
}

// Unites the ends of at most most_unasked edges.
void ComponentFinder::absorb(const int64_t *ends, size_t edges) {
  SIMJOIN_CHECK(edges <= most_unasked);
  uint32_t numbers[2 * most_unasked];
  numbers_.numbers_of(ends, 2 * edges, numbers);
  sets_.grow(numbers_.count());
  for (size_t i = 0; i < 2 * edges; i += 2) {
    const size_t ahead = std::min(i + 2 * fetched_ahead, 2 * edges - 2);
    sets_.prefetch(numbers[ahead]);
    sets_.prefetch(numbers[ahead + 1]);
    if (numbers[i] != numbers[i + 1]) sets_.unite(numbers[i], numbers[i + 1]);
  }
}

void ComponentFinder::absorb(const StopFlag &stop) {
  for (size_t at = 0; at < held_.size(); at += most_unasked) {
    stop.check();
    absorb(held_.ends().begin() + 2 * at, std::min(most_unasked, held_.size() - at));
  }
  held_.clear();
}

void ComponentFinder::absorb(const Components &components, const StopFlag &stop) {
  int64_t ends[2 * most_unasked];
  for (size_t at = 0; at < components.nodes.size(); at += most_unasked) {
    stop.check();
    const size_t edges = std::min(most_unasked, components.nodes.size() - at);
    for (size_t i = 0; i < edges; ++i) {
      ends[2 * i] = components.nodes[at + i];
      ends[2 * i + 1] = components.components[at + i];
    }
    absorb(ends, edges);
  }
  held_.clear();
}

Components ComponentFinder::components(WorkerPool &pool) {
  absorb(pool.stop());
  held_.release();
  Components result(memory_);
  Buffer<uint32_t> rank_of(memory_);
  result.nodes = sorted_nodes(numbers_, rank_of, pool, memory_);
  numbers_.release();
  // The smallest rank of each set, by its root.
  Buffer<uint32_t> smallest(memory_);
  fill(smallest, rank_of.size(), none, pool);
  for (uint32_t number = 0; number < rank_of.size(); ++number) {
    pool.stop().check_at(number);
    uint32_t &rank = smallest[sets_.find(number)];
    rank = std::min(rank, rank_of[number]);
  }
  result.components.resize(rank_of.size());
  for (uint32_t number = 0; number < rank_of.size(); ++number) {
    pool.stop().check_at(number);
    result.components[rank_of[number]] = result.nodes[smallest[sets_.find(number)]];
  }
  return result;
}

}  // namespace simjoin
