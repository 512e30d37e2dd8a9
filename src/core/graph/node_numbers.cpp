#include "core/graph/node_numbers.hpp"

#include <algorithm>
#include <bit>

#include "core/base/error.hpp"
#include "core/base/mix.hpp"
#include "core/base/parallel_ranges.hpp"
#include "core/sort/parallel_sort.hpp"

namespace simjoin {
namespace {

// Nodes that are looked up together. With 3.5 M known nodes a batch of 8 took 61 to 66 ns per node, 32 and 64
// took 53 to 62, and single nodes took 125 (two cores of a busy Xeon).
constexpr size_t batch_nodes = 32;
// The direct table may have this many slots for any nodes, and this many more per node.
constexpr size_t direct_free = size_t{1} << 12;
constexpr size_t direct_per_node = 4;
constexpr size_t first_direct = 1024;
constexpr uint64_t values_per_node = 64;          // of a bitmap, at most: 12 bytes
constexpr uint64_t sign_bit = uint64_t{1} << 63;  // flipped, it makes signed numbers sort as unsigned ones

[[noreturn]] void throw_too_many() {
  throw Error(ErrorKind::limit_exceeded, "a graph cannot have more than 4294967294 nodes");
}

uint64_t hash_of(int64_t node) {
  return mix_bits(static_cast<uint64_t>(node));
}

}  // namespace

NodeNumbers::NodeNumbers(MemoryCounter &memory)
    : direct_(memory), table_(memory, Entry{0, no_number}), nodes_(memory) {}

void NodeNumbers::release() {
  direct_.release();
  table_.clear();
  nodes_.release();
}

// Adds a node that neither table has, which belongs at `place` of the hash table.
uint32_t NodeNumbers::add(Entry *place, uint64_t hash, int64_t node) {
  if (nodes_.size() >= no_number) throw_too_many();
  const uint32_t number = count();
  const auto slot = static_cast<uint64_t>(node);
  if (!direct(node) && slot < direct_free + direct_per_node * nodes_.size()) {
    // At least a quarter more than before, so that a growing range seldom moves.
    const size_t before = direct_.size();
    direct_.resize(std::max({first_direct, before + before / 4, static_cast<size_t>(slot) + 1}));
    std::fill(direct_.begin() + before, direct_.end(), no_number);
  }
  nodes_.push_back(node);
  if (direct(node)) {
    direct_[slot] = number;
  } else {
    table_.add(place, {tag_of(hash), number});
  }
  return number;
}

// Returns the place of the node in the hash table, or the free place where it belongs.
NodeNumbers::Entry *NodeNumbers::place_of(uint64_t hash, int64_t node) const {
  return table_.find(
      hash, [&](const Entry &entry) { return entry.tag == tag_of(hash) && nodes_[entry.number] == node; });
}

uint32_t NodeNumbers::find(int64_t node) const {
  if (direct(node) && direct_[static_cast<size_t>(node)] != no_number)
    return direct_[static_cast<size_t>(node)];
  return place_of(hash_of(node), node)->number;  // a free place has none
}

uint32_t NodeNumbers::find_or_add(uint64_t hash, int64_t node) {
  if (direct(node) && direct_[static_cast<size_t>(node)] != no_number)
    return direct_[static_cast<size_t>(node)];
  Entry *const place = place_of(hash, node);
  if (place->free()) return add(place, hash, node);
  if (direct(node)) direct_[static_cast<size_t>(node)] = place->number;
  return place->number;
}

uint32_t NodeNumbers::number_of(int64_t node) {
  return find_or_add(hash_of(node), node);
}

void NodeNumbers::prefetch(int64_t node, uint64_t hash) const {
  if (direct(node))
    __builtin_prefetch(&direct_[static_cast<size_t>(node)]);
  else
    table_.prefetch(hash);
}

void NodeNumbers::numbers_of(const int64_t *nodes, size_t count, uint32_t *numbers) {
  uint64_t hashes[batch_nodes];
  for (size_t at = 0; at < count; at += batch_nodes) {
    const size_t batch = std::min(batch_nodes, count - at);
    for (size_t i = 0; i < batch; ++i) {
      hashes[i] = hash_of(nodes[at + i]);
      prefetch(nodes[at + i], hashes[i]);
    }
    for (size_t i = 0; i < batch; ++i) {
      if (direct(nodes[at + i])) continue;
      const Entry &entry = *table_.first_place(hashes[i]);
      if (!entry.free() && entry.tag == tag_of(hashes[i])) __builtin_prefetch(&nodes_[entry.number]);
    }
    for (size_t i = 0; i < batch; ++i) numbers[at + i] = find_or_add(hashes[i], nodes[at + i]);
  }
}

bool NodeBitmap::pays(int64_t least, int64_t greatest, size_t count) {
  return static_cast<uint64_t>(greatest) - static_cast<uint64_t>(least) < values_per_node * count;
}

NodeBitmap::NodeBitmap(int64_t least, int64_t greatest, WorkerPool &pool, MemoryCounter &memory)
    : pool_(pool), memory_(memory), least_(static_cast<uint64_t>(least)), bits_(memory) {
  bits_.resize(offset(greatest) + 1, pool);
}

void NodeBitmap::rank() {
  count_ = bits_.rank(pool_.stop());
  if (count_ >= UINT32_MAX) throw_too_many();
}

Buffer<int64_t> NodeBitmap::nodes() const {
  Buffer<int64_t> nodes(memory_, count_);
  for_ranges(pool_, bits_.words(), entries_per_range, [&](size_t begin, size_t end) {
    bits_.visit(begin, end, [&](size_t i, uint32_t rank) { nodes[rank] = static_cast<int64_t>(least_ + i); });
  });
  return nodes;
}

namespace {

// Returns the nodes in ascending order by sorting them.
Buffer<int64_t> sorted_by_keys(const Buffer<int64_t> &nodes, Buffer<uint32_t> &rank_of, WorkerPool &pool,
                               MemoryCounter &memory) {
  Buffer<SortKey> keys(memory, nodes.size());
  for_ranges(pool, nodes.size(), entries_per_range, [&](size_t begin, size_t end) {
    for (size_t number = begin; number < end; ++number) {
      keys[number].hi = static_cast<uint64_t>(nodes[number]) ^ sign_bit;
      keys[number].lo = number;
    }
  });
  sort_keys(keys, pool, memory);
  Buffer<int64_t> sorted(memory, keys.size());
  for_ranges(pool, keys.size(), entries_per_range, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      sorted[i] = static_cast<int64_t>(keys[i].hi ^ sign_bit);
      rank_of[keys[i].lo] = static_cast<uint32_t>(i);
    }
  });
  return sorted;
}

// Calls body(node) for all of both arrays, in parallel.
template <typename Body>
void for_all(const Buffer<int64_t> &nodes, const Buffer<int64_t> &lone, WorkerPool &pool, Body &&body) {
  for (const Buffer<int64_t> *some : {&nodes, &lone})
    for_ranges(pool, some->size(), entries_per_range, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) body((*some)[i]);
    });
}

}  // namespace

Buffer<int64_t> sorted_nodes(const NodeNumbers &numbers, Buffer<uint32_t> &rank_of, WorkerPool &pool,
                             MemoryCounter &memory) {
  const Buffer<int64_t> &nodes = numbers.nodes();
  rank_of.resize(nodes.size());
  if (nodes.empty()) return Buffer<int64_t>(memory);
  int64_t least = nodes[0], greatest = nodes[0];
  for (size_t i = 0; i < nodes.size(); ++i) {
    pool.stop().check_at(i);
    least = std::min(least, nodes[i]);
    greatest = std::max(greatest, nodes[i]);
  }
  if (!NodeBitmap::pays(least, greatest, nodes.size())) return sorted_by_keys(nodes, rank_of, pool, memory);
  NodeBitmap bitmap(least, greatest, pool, memory);
  for_ranges(pool, nodes.size(), entries_per_range, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) bitmap.mark(nodes[i]);
  });
  bitmap.rank();
  for_ranges(pool, nodes.size(), entries_per_range, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) rank_of[i] = bitmap.rank_of(nodes[i]);
  });
  return bitmap.nodes();
}

Buffer<int64_t> replace_by_ranks(Buffer<int64_t> &nodes, const Buffer<int64_t> &lone, int64_t least,
                                 int64_t greatest, WorkerPool &pool, MemoryCounter &memory) {
  const auto replace = [&](auto &&rank) {
    for_ranges(pool, nodes.size(), entries_per_range, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) nodes[i] = rank(nodes[i]);
    });
  };
  if (nodes.empty() && lone.empty()) return Buffer<int64_t>(memory);
  if (NodeBitmap::pays(least, greatest, nodes.size() + lone.size())) {
    NodeBitmap bitmap(least, greatest, pool, memory);
    for_all(nodes, lone, pool, [&](int64_t node) { bitmap.mark(node); });
    bitmap.rank();
    replace([&](int64_t node) { return static_cast<int64_t>(bitmap.rank_of(node)); });
    return bitmap.nodes();
  }
  NodeNumbers numbers(memory);
  uint32_t some[batch_nodes];
  for (size_t at = 0; at < nodes.size(); at += batch_nodes) {
    pool.stop().check_at(at);
    const size_t batch = std::min(batch_nodes, nodes.size() - at);
    numbers.numbers_of(nodes.begin() + at, batch, some);
    std::copy_n(some, batch, nodes.begin() + at);
  }
  for (size_t i = 0; i < lone.size(); ++i) {
    pool.stop().check_at(i);
    numbers.number_of(lone[i]);
  }
  Buffer<uint32_t> rank_of(memory);
  Buffer<int64_t> sorted = sorted_nodes(numbers, rank_of, pool, memory);
  numbers.release();
  replace([&](int64_t number) { return static_cast<int64_t>(rank_of[static_cast<size_t>(number)]); });
  return sorted;
}

}  // namespace simjoin
