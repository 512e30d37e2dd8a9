// The k nearest neighbors of each of many rows, kept while pairs come in.
#pragma once

#include "pg/pg.hpp"

namespace simjoin::pg {

struct Neighbor {
  double similarity;
  int64 id;
};

// Of one row: at most k neighbors, as a heap with the least near on top.
struct NeighborList {
  Neighbor *data;
  uint32 count;
  uint32 capacity;
};

// Returns `rows` empty lists in the context.
NeighborList *create_neighbor_lists(size_t rows, MemoryContext context);

// Adds the neighbor unless k nearer ones are there; of equally similar ones, that with the smaller id is
// nearer.
void add_neighbor(NeighborList *list, const Neighbor &neighbor, uint32 k, MemoryContext context);

// Orders the list by nearness, the nearest first. Nothing can be added afterwards.
void order_neighbors(NeighborList *list);

}  // namespace simjoin::pg
