#include "pg/functions/neighbor_lists.hpp"

#include <algorithm>
#include <memory>

#include "pg/base/errors.hpp"
#include "pg/base/interruptible.hpp"

namespace simjoin::pg {
namespace {

constexpr size_t first_capacity = 4;

bool nearer(const Neighbor &a, const Neighbor &b) {
  return a.similarity > b.similarity || (a.similarity == b.similarity && a.id < b.id);
}

// Makes room for more neighbors in a list that is full.
void grow(const NeighborLists &lists, NeighborList *list) {
  const size_t capacity = std::max<size_t>(first_capacity, list->capacity * 2);
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

// Puts the k-th nearest of at least k neighbors in its place, nearer ones before it, and drops those that do
// not count.
void drop_farther(const NeighborLists &lists, NeighborList *list) {
  InterruptCounter interrupts;
  Neighbor *last = list->data + lists.k - 1;
  std::nth_element(list->data, last, list->data + list->count, [&](const Neighbor &a, const Neighbor &b) {
    interrupts.add(1);
    return nearer(a, b);
  });
  const Neighbor *end = list->data + list->count;
  list->count = lists.k;
  for (const Neighbor *next = last + 1; lists.ties && next != end; ++next)
    if (next->similarity == last->similarity) list->data[list->count++] = *next;
}

}  // namespace

NeighborLists create_neighbor_lists(size_t rows, uint32 k, bool ties, size_t memory_limit,
                                    MemoryContext context) {
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
  return {lists, k, ties, context, memory};
}

// From k neighbors on, the k-th nearest of those before the last call of drop_farther() is in its place.
void add_neighbor(const NeighborLists &lists, size_t row, const Neighbor &neighbor) {
  NeighborList *list = &lists.lists[row];
  if (list->count >= lists.k) {
    const Neighbor &last = list->data[lists.k - 1];
    if (lists.ties ? neighbor.similarity < last.similarity : !nearer(neighbor, last)) return;
  }
  if (list->count == list->capacity) {
    if (list->count > lists.k) drop_farther(lists, list);
    if (list->count >= list->capacity - list->capacity / 4) grow(lists, list);
  }
  list->data[list->count++] = neighbor;
  if (list->count == lists.k) drop_farther(lists, list);
}

void order_neighbors(const NeighborLists &lists, size_t row) {
  NeighborList *list = &lists.lists[row];
  if (list->count > lists.k) drop_farther(lists, list);
  sort_interruptibly(list->data, list->count, nearer, [](const Neighbor &) { return size_t{1}; });
}

}  // namespace simjoin::pg
