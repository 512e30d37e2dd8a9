// The k nearest neighbors of each of many rows, kept while pairs come in.
#pragma once

#include "pg/base/pg.hpp"

#include "core/base/memory.hpp"

namespace simjoin::pg {

struct Neighbor {
  double similarity;
  int64 id;
};

// The neighbors of a row, some of which may be farther than those that count.
struct NeighborList {
  Neighbor *data;
  size_t count;
  size_t capacity;
};

// The lists of all rows. They belong to the context, and their memory is counted.
struct NeighborLists {
  NeighborList *lists;
  uint32 k;
  bool ties;  // neighbors count that are as similar as the k-th
  MemoryContext context;
  MemoryCounter *memory;
};

// Returns `rows` empty lists in the context. Errors where they need more memory than `memory_limit`, which
// the join leaves, and so does add_neighbor.
NeighborLists create_neighbor_lists(size_t rows, uint32 k, bool ties, size_t memory_limit,
                                    MemoryContext context);

// Adds the neighbor of a row, unless the list has k nearer ones. Among equally similar neighbors the smaller
// id is nearer.
void add_neighbor(const NeighborLists &lists, size_t row, const Neighbor &neighbor);

// Gives the list of a row those neighbors only that count, the nearest first. Nothing can be added
// afterwards.
void order_neighbors(const NeighborLists &lists, size_t row);

}  // namespace simjoin::pg
