#include "pg/functions/neighbor_lists.hpp"

#include <algorithm>
#include <memory>

#include "pg/base/errors.hpp"
#include "pg/base/interruptible.hpp"

namespace simjoin::pg {
namespace {

constexpr uint32 first_capacity = 4;

bool nearer(const Neighbor &a, const Neighbor &b) {
  return a.similarity > b.similarity || (a.similarity == b.similarity && a.id < b.id);
}

// Makes room for more neighbors in a list that is full.
void grow(const NeighborLists &lists, NeighborList *list) {
  const uint64 doubled = std::max<uint64>(first_capacity, uint64{list->capacity} * 2);
  const auto capacity = static_cast<uint32>(std::min<uint64>(doubled, lists.k));
  const Size size = capacity * sizeof(Neighbor);
  call_cpp([&] { lists.memory->check_room(size - list->capacity * sizeof(Neighbor)); });
  if (list->data == nullptr) {
    list->data = static_cast<Neighbor *>(MemoryContextAllocHuge(lists.context, size));
  } else {
    lists.memory->sub(GetMemoryChunkSpace(list->data));
    list->data = static_cast<Neighbor *>(repalloc_huge(list->data, size));
  }
  list->capacity = capacity;
  lists.memory->add(GetMemoryChunkSpace(list->data));
}

}  // namespace

NeighborLists create_neighbor_lists(size_t rows, uint32 k, size_t memory_limit, MemoryContext context) {
  const Size size = std::max<size_t>(rows, 1) * sizeof(NeighborList);
  MemoryCounter *memory = own(context, [&] {
    auto counter = std::make_unique<MemoryCounter>();
    counter->set_limit(memory_limit,
                       {"the neighbours need", "ask for fewer of each row, or of fewer rows at a time",
                        " that the join leaves"});
    counter->check_room(size);
    return counter;
  });
  auto *lists = static_cast<NeighborList *>(
      MemoryContextAllocExtended(context, size, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
  memory->add(size);
  return {lists, k, context, memory};
}

void add_neighbor(const NeighborLists &lists, size_t row, const Neighbor &neighbor) {
  NeighborList *list = &lists.lists[row];
  if (list->count == lists.k) {
    if (!nearer(neighbor, list->data[0])) return;
    std::pop_heap(list->data, list->data + list->count, nearer);
    list->data[list->count - 1] = neighbor;
  } else {
    if (list->count == list->capacity) grow(lists, list);
    list->data[list->count++] = neighbor;
  }
  std::push_heap(list->data, list->data + list->count, nearer);
}

void order_neighbors(NeighborList *list) {
  sort_interruptibly(list->data, list->count, nearer, [](const Neighbor &) { return size_t{1}; });
}

}  // namespace simjoin::pg
