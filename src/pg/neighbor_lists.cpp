#include "pg/neighbor_lists.hpp"

#include <algorithm>

#include "pg/tokens.hpp"

namespace simjoin::pg {
namespace {

constexpr uint32 first_capacity = 4;

bool nearer(const Neighbor &a, const Neighbor &b) {
  return a.similarity > b.similarity || (a.similarity == b.similarity && a.id < b.id);
}

void grow(NeighborList *list, uint32 k, MemoryContext context) {
  const uint64 doubled = std::max<uint64>(first_capacity, uint64{list->capacity} * 2);
  list->capacity = static_cast<uint32>(std::min<uint64>(doubled, k));
  const Size size = list->capacity * sizeof(Neighbor);
  list->data = static_cast<Neighbor *>(list->data == nullptr ? MemoryContextAllocHuge(context, size)
                                                             : repalloc_huge(list->data, size));
}

}  // namespace

NeighborList *create_neighbor_lists(size_t rows, MemoryContext context) {
  const Size size = std::max<size_t>(rows, 1) * sizeof(NeighborList);
  return static_cast<NeighborList *>(
      MemoryContextAllocExtended(context, size, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
}

void add_neighbor(NeighborList *list, const Neighbor &neighbor, uint32 k, MemoryContext context) {
  if (list->count == k) {
    if (!nearer(neighbor, list->data[0])) return;
    std::pop_heap(list->data, list->data + list->count, nearer);
    list->data[list->count - 1] = neighbor;
  } else {
    if (list->count == list->capacity) grow(list, k, context);
    list->data[list->count++] = neighbor;
  }
  std::push_heap(list->data, list->data + list->count, nearer);
}

void order_neighbors(NeighborList *list) {
  sort_interruptibly(list->data, list->count, nearer, [](const Neighbor &) { return size_t{1}; });
}

}  // namespace simjoin::pg
