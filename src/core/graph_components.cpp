#include "core/graph_components.hpp"

#include <algorithm>

namespace simjoin {
namespace {

constexpr size_t check_interval = size_t{1} << 16;  // nodes between looks at the stop flag
constexpr uint32_t none = UINT32_MAX;

}  // namespace

void DisjointSets::grow(uint32_t count) {
  while (parents_.size() < count) parents_.push_back(static_cast<uint32_t>(parents_.size()));
}

void DisjointSets::unite(uint32_t a, uint32_t b) {
  a = find(a);
  b = find(b);
  if (a < b) {
    parents_[b] = a;
  } else {
    parents_[a] = b;
  }
}

void ComponentFinder::add_edge(int64_t a, int64_t b) {
  const uint32_t from = number_of(a), to = number_of(b);
  sets_.grow(std::max(from, to) + 1);
  sets_.unite(from, to);
}

Components ComponentFinder::components(WorkerPool &pool) {
  Components result(memory_);
  Buffer<uint32_t> rank_of(memory_);
  result.nodes = numbers_.sorted(pool, memory_, &rank_of);
  numbers_.release();
  // The smallest rank of each set, by its root.
  Buffer<uint32_t> smallest(memory_, rank_of.size(), none);
  for (uint32_t number = 0; number < rank_of.size(); ++number) {
    if (number % check_interval == 0) pool.stop().check();
    uint32_t &rank = smallest[sets_.find(number)];
    rank = std::min(rank, rank_of[number]);
  }
  result.components.resize(rank_of.size());
  for (uint32_t number = 0; number < rank_of.size(); ++number) {
    if (number % check_interval == 0) pool.stop().check();
    result.components[rank_of[number]] = result.nodes[smallest[sets_.find(number)]];
  }
  return result;
}

}  // namespace simjoin
