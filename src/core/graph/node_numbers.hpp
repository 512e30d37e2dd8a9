// Nodes to dense numbers: in the order in which they are first seen, or in their own order.
#pragma once

#include <cstdint>

#include "core/base/memory.hpp"
#include "core/base/probe_table.hpp"
#include "core/base/ranked_bits.hpp"
#include "core/base/worker_pool.hpp"

namespace simjoin {

// Gives nodes the numbers 0, 1, ... in the order in which they are first seen. Small nodes that are not
// negative index a table directly if they are dense enough, so that neighbors stay neighbors. All others go
// through a hash table. Memory is fetched ahead for many nodes at a time.
class NodeNumbers {
 public:
  static constexpr uint32_t no_number = UINT32_MAX;

  explicit NodeNumbers(MemoryCounter &memory);

  // Throws Error limit_exceeded at 2^32 - 1 nodes.
  uint32_t number_of(int64_t node);
  // Returns the number of a node, or no_number where it has none.
  uint32_t find(int64_t node) const;
  // Gives many nodes their numbers: numbers[i] becomes that of nodes[i].
  void numbers_of(const int64_t *nodes, size_t count, uint32_t *numbers);
  uint32_t count() const { return static_cast<uint32_t>(nodes_.size()); }
  // The node of each number.
  const Buffer<int64_t> &nodes() const { return nodes_; }
  // Forgets everything.
  void release();

 private:
  struct Entry {
    uint32_t tag;  // of the hash, its upper bits: growing reads no node
    uint32_t number;

    bool free() const { return number == no_number; }
    uint64_t hash() const { return uint64_t{tag} << 32; }
  };

  static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
  bool direct(int64_t node) const { return static_cast<uint64_t>(node) < direct_.size(); }
  void prefetch(int64_t node, uint64_t hash) const;
  Entry *place_of(uint64_t hash, int64_t node) const;
  uint32_t find_or_add(uint64_t hash, int64_t node);
  uint32_t add(Entry *place, uint64_t hash, int64_t node);

  Buffer<uint32_t> direct_;  // the number of each small node
  ProbeTable<Entry> table_;  // may still have nodes that the direct table has come to cover
  Buffer<int64_t> nodes_;
};

// The distinct nodes in ascending order and the rank of each, for nodes so close together that a bitmap of
// their range is small.
class NodeBitmap {
 public:
  // Returns whether a bitmap from `least` to `greatest` takes at most a few bytes for each of `count` nodes.
  static bool pays(int64_t least, int64_t greatest, size_t count);

  NodeBitmap(int64_t least, int64_t greatest, WorkerPool &pool, MemoryCounter &memory);

  void mark(int64_t node) { bits_.mark(offset(node)); }
  // Ends the marking. Throws Error limit_exceeded if there are too many nodes.
  void rank();
  uint32_t rank_of(int64_t node) const { return bits_.rank_of(offset(node)); }
  // Returns the marked nodes.
  Buffer<int64_t> nodes() const;

 private:
  uint64_t offset(int64_t node) const { return static_cast<uint64_t>(node) - least_; }

  WorkerPool &pool_;
  MemoryCounter &memory_;
  uint64_t least_;
  RankedBits bits_;
  uint64_t count_ = 0;
};

// Returns the nodes of the numbers in ascending order. rank_of[number] becomes the place of the number's
// node.
Buffer<int64_t> sorted_nodes(const NodeNumbers &numbers, Buffer<uint32_t> &rank_of, WorkerPool &pool,
                             MemoryCounter &memory);

// Replaces each of the nodes, all from `least` to `greatest`, by its rank among them; returns the
// distinct ones in ascending order. `lone` nodes are ranked with them.
Buffer<int64_t> replace_by_ranks(Buffer<int64_t> &nodes, const Buffer<int64_t> &lone, int64_t least,
                                 int64_t greatest, WorkerPool &pool, MemoryCounter &memory);

}  // namespace simjoin
