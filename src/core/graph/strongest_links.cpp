#include "core/graph/strongest_links.hpp"

#include <algorithm>
#include <utility>

#include "core/base/interruption.hpp"
#include "core/graph/components.hpp"
#include "core/sort/parallel_sort.hpp"

namespace simjoin {
namespace {

constexpr uint32_t no_link = UINT32_MAX;

// Returns the links of all edges, the strongest ones first.
Buffer<SortKey> sorted_links(const EdgeList &edges, WorkerPool &pool, MemoryCounter &memory) {
  Buffer<SortKey> keys(memory, edges.size());
  size_t count = 0;
  for (size_t i = 0; i < edges.size(); ++i) {
    pool.stop().check_at(i);
    const Edge edge = edges.ranked(i);
    if (edge.from == edge.to) continue;
    // A weight is not negative, and so is not its zero.
    keys[count++] = BySimilarity::key(
        {std::min(edge.from, edge.to), std::max(edge.from, edge.to), edges.weight(i) + 0.0});
  }
  keys.resize(count);
  sort_keys(keys, pool, memory);
  return keys;
}

// Returns the rank of a node, or the number of nodes where it is none.
size_t rank_of(int64_t node, const Buffer<int64_t> &nodes) {
  const int64_t *place = std::lower_bound(nodes.begin(), nodes.end(), node);
  return place != nodes.end() && *place == node ? static_cast<size_t>(place - nodes.begin()) : nodes.size();
}

}  // namespace

StrongestLinks::StrongestLinks(EdgeList &edges, WorkerPool &pool, MemoryCounter &memory)
    : nodes_(edges.rank_nodes(pool, memory)), links_(memory) {
  const Buffer<SortKey> keys = sorted_links(edges, pool, memory);
  edges.release();
  DisjointSets sets(memory);
  sets.grow(static_cast<uint32_t>(nodes_.size()));
  for (size_t i = 0; i < keys.size(); ++i) {
    pool.stop().check_at(i);
    const RankedPair link = BySimilarity::pair(keys[i]);
    if (sets.find(link.left) == sets.find(link.right)) continue;
    sets.unite(link.left, link.right);
    links_.push_back(link);
  }
}

std::vector<RankedPair> StrongestLinks::path(int64_t from, int64_t to, MemoryCounter &memory) const {
  const size_t first = rank_of(to, nodes_), last = rank_of(from, nodes_);
  std::vector<RankedPair> links;
  if (first == nodes_.size() || last == nodes_.size() || first == last) return links;
  // The links at each node are a list: 2 * i is link i at its left node, and 2 * i + 1 is that at its right
  // one.
  Buffer<uint32_t> heads(memory, nodes_.size(), no_link), next(memory, 2 * links_.size());
  for (uint32_t i = 0; i < links_.size(); ++i) {
    check_interruption_at(i);
    next[2 * i] = std::exchange(heads[links_[i].left], 2 * i);
    next[2 * i + 1] = std::exchange(heads[links_[i].right], 2 * i + 1);
  }
  // From the end of the path on, each node that is reached notes the link by which it was.
  Buffer<uint32_t> reached(memory), by(memory, nodes_.size(), no_link);
  reached.push_back(static_cast<uint32_t>(first));
  for (size_t done = 0; done < reached.size() && by[last] == no_link; ++done) {
    check_interruption_at(done);
    const uint32_t node = reached[done];
    for (uint32_t at = heads[node]; at != no_link; at = next[at]) {
      const RankedPair &link = links_[at / 2];
      if (at / 2 == by[node]) continue;
      const uint32_t other = link.left == node ? link.right : link.left;
      by[other] = at / 2;
      reached.push_back(other);
    }
  }
  for (auto node = static_cast<uint32_t>(last); by[node] != no_link;) {
    check_interruption_at(links.size());
    const RankedPair &link = links_[by[node]];
    links.push_back(link);
    node = link.left == node ? link.right : link.left;
  }
  return links;
}

std::vector<HangingComponent> StrongestLinks::components(WorkerPool &pool, MemoryCounter &memory) const {
  DisjointSets sets(memory);
  sets.grow(static_cast<uint32_t>(nodes_.size()));
  // Of each component, by its smallest node: its nodes, and those on the side of the left one of its last
  // link.
  Buffer<uint32_t> sizes(memory, nodes_.size(), 1), at_left(memory, nodes_.size()),
      last(memory, nodes_.size());
  for (uint32_t i = 0; i < links_.size(); ++i) {
    pool.stop().check_at(i);
    const uint32_t a = sets.find(links_[i].left), b = sets.find(links_[i].right), root = std::min(a, b);
    at_left[root] = sizes[a];
    sizes[root] = sizes[a] + sizes[b];
    last[root] = i;
    sets.unite(a, b);
  }
  std::vector<HangingComponent> found;
  for (uint32_t node = 0; node < nodes_.size(); ++node) {
    pool.stop().check_at(node);
    if (sets.find(node) == node && sizes[node] > 1)
      found.push_back({node, sizes[node], links_[last[node]], at_left[node]});
  }
  return found;
}

}  // namespace simjoin
