#include "core/dedup/entities.hpp"

#include <algorithm>
#include <tuple>

#include "core/base/parallel_ranges.hpp"

namespace simjoin {
namespace {

// Rows that a former entity and a group share.
struct SharedRows {
  int64_t entity;
  int64_t smallest_id;
  uint32_t group;
  uint32_t rows;
  bool leaves;  // the group does not go on with the entity
};

template <class Item, class Less>
void sort_by(Buffer<Item> &items, const StopFlag &stop, Less less) {
  std::sort(items.begin(), items.end(), stoppable(stop, less));
}

bool by_entity(const SharedRows &a, const SharedRows &b) {
  return std::tie(a.entity, a.group) < std::tie(b.entity, b.group);
}

// Returns what former entities and groups share, by entity.
Buffer<SharedRows> shared_rows(const EntityRows &rows, MemoryCounter &memory, const StopFlag &stop) {
  Buffer<SharedRows> shared(memory);
  for (size_t row = 0; row < rows.groups.size(); ++row) {
    stop.check_at(row);
    if (rows.former[row] != no_entity)
      shared.push_back({rows.former[row], rows.ids[row], rows.groups[row], 1, true});
  }
  sort_by(shared, stop, by_entity);
  size_t kept = 0;
  for (size_t i = 0; i < shared.size(); ++i) {
    stop.check_at(i);
    const SharedRows &next = shared[i];
    if (kept > 0 && shared[kept - 1].entity == next.entity && shared[kept - 1].group == next.group) {
      ++shared[kept - 1].rows;
      shared[kept - 1].smallest_id = std::min(shared[kept - 1].smallest_id, next.smallest_id);
    } else {
      shared[kept++] = next;
    }
  }
  shared.resize(kept);
  return shared;
}

// The entities of the groups. `shared` is by entity.
class Assignment {
 public:
  Assignment(const EntityRows &rows, Buffer<SharedRows> &shared, MemoryCounter &memory, const StopFlag &stop)
      : rows_(rows), shared_(shared), memory_(memory), stop_(stop), of_group_(memory), goes_on_(memory) {
    of_group_.resize(rows.groups.size());
    std::fill(of_group_.begin(), of_group_.end(), no_entity);
  }

  void keep_entities();
  uint32_t add_entities();
  void note_changes(Buffer<EntityChange> &changes) const;
  int64_t entity_of(size_t row) const { return of_group_[rows_.groups[row]]; }

 private:
  // Returns where the entity stands among the shared rows; their number if it shares none.
  size_t place_of(int64_t entity) const {
    const SharedRows *begin = shared_.data(), *end = begin + shared_.size();
    const SharedRows *place =
        std::lower_bound(begin, end, entity, [](const SharedRows &a, int64_t b) { return a.entity < b; });
    return static_cast<size_t>((place == end || place->entity != entity ? end : place) - begin);
  }
  void note_removals(Buffer<EntityChange> &changes) const;

  const EntityRows &rows_;
  Buffer<SharedRows> &shared_;
  MemoryCounter &memory_;
  const StopFlag &stop_;
  Buffer<int64_t> of_group_;  // by the row that stands for a group
  Buffer<uint8_t> goes_on_;   // by the first place of an entity among the shared rows
};

void Assignment::keep_entities() {
  struct Choice {
    uint32_t place;
    uint32_t first;  // place of the same entity
  };
  const auto count = static_cast<uint32_t>(shared_.size());
  Buffer<Choice> order(memory_);
  order.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    stop_.check_at(i);
    order[i] = {i, i > 0 && shared_[i - 1].entity == shared_[i].entity ? order[i - 1].first : i};
  }
  goes_on_.resize(count);
  std::fill(goes_on_.begin(), goes_on_.end(), uint8_t{0});
  sort_by(order, stop_, [this](const Choice &a, const Choice &b) {
    const SharedRows &one = shared_[a.place], &other = shared_[b.place];
    return std::tie(other.rows, one.entity, one.smallest_id) <
           std::tie(one.rows, other.entity, other.smallest_id);
  });
  for (uint32_t i = 0; i < count; ++i) {
    stop_.check_at(i);
    SharedRows &rows = shared_[order[i].place];
    if (goes_on_[order[i].first] != 0 || of_group_[rows.group] != no_entity) continue;
    goes_on_[order[i].first] = 1;
    of_group_[rows.group] = rows.entity;
    rows.leaves = false;
  }
}

// Gives the other groups new entities. Returns how many.
uint32_t Assignment::add_entities() {
  struct FreeRow {
    int64_t id;
    uint32_t group;
  };
  Buffer<FreeRow> free(memory_);
  for (uint32_t row = 0; row < rows_.groups.size(); ++row) {
    stop_.check_at(row);
    if (entity_of(row) == no_entity) free.push_back({rows_.ids[row], rows_.groups[row]});
  }
  sort_by(free, stop_, [](const FreeRow &a, const FreeRow &b) { return a.id < b.id; });
  uint32_t added = 0;
  for (size_t i = 0; i < free.size(); ++i) {
    stop_.check_at(i);
    int64_t &entity = of_group_[free[i].group];
    if (entity == no_entity) entity = -int64_t{++added};
  }
  return added;
}

void Assignment::note_removals(Buffer<EntityChange> &changes) const {
  Buffer<int64_t> removed(memory_);
  for (size_t i = 0; i < rows_.removed.size(); ++i) {
    stop_.check_at(i);
    if (place_of(rows_.removed[i]) == shared_.size()) removed.push_back(rows_.removed[i]);
  }
  sort_by(removed, stop_, std::less<>());
  for (size_t i = 0; i < removed.size(); ++i) {
    stop_.check_at(i);
    if (i > 0 && removed[i] == removed[i - 1])
      ++changes.back().rows;
    else
      changes.push_back({EntityEvent::removal, 1, removed[i], no_entity});
  }
}

void Assignment::note_changes(Buffer<EntityChange> &changes) const {
  note_removals(changes);
  for (size_t i = 0; i < shared_.size(); ++i) {
    stop_.check_at(i);
    const SharedRows &rows = shared_[i];
    if (!rows.leaves) continue;
    const int64_t to = of_group_[rows.group];
    EntityEvent event = EntityEvent::merge;
    if (to < 0)
      event = EntityEvent::split;
    else if (goes_on_[place_of(rows.entity)] != 0)
      event = EntityEvent::move;
    changes.push_back({event, rows.rows, rows.entity, to});
  }
  sort_by(changes, stop_, [](const EntityChange &a, const EntityChange &b) {
    const int64_t to = a.to < 0 ? -a.to : a.to, other = b.to < 0 ? -b.to : b.to;
    return std::tuple(a.from, a.to < 0, to) < std::tuple(b.from, b.to < 0, other);
  });
}

}  // namespace

EntityResult assign_entities(const EntityRows &rows, MemoryCounter &memory, const StopFlag &stop) {
  EntityResult result(memory);
  Buffer<SharedRows> shared = shared_rows(rows, memory, stop);
  Assignment assignment(rows, shared, memory, stop);
  assignment.keep_entities();
  result.added = assignment.add_entities();
  assignment.note_changes(result.changes);
  result.of_rows.resize(rows.groups.size());
  for (size_t row = 0; row < rows.groups.size(); ++row) {
    stop.check_at(row);
    result.of_rows[row] = assignment.entity_of(row);
  }
  return result;
}

}  // namespace simjoin
