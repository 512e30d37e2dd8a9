// Entities: groups whose ids stay when the groups change.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"

namespace simjoin {

inline constexpr int64_t no_entity = 0;  // the ids of entities are positive

// The rows that are grouped now, and the entities that they belonged to before.
struct EntityRows {
  std::span<const uint32_t> groups;  // of each row, a row that stands for its group and belongs to it
  std::span<const int64_t> ids;      // of each row; they are distinct
  std::span<const int64_t> former;   // of each row; no_entity where the row is new
  std::span<const int64_t> removed;  // of each row that is gone
};

// `merge`: rows of an entity that is no more belong to another one. `split`: rows belong to a new entity.
// `move`: rows belong to another former entity, and theirs goes on. `removal`: all rows of an entity are
// gone.
enum class EntityEvent : uint8_t { merge, split, move, removal };

inline constexpr std::string_view entity_event_names[] = {"merge", "split", "move", "removal"};

// What became of some rows of an entity: their number, and the entity that they belong to now.
struct EntityChange {
  EntityEvent event;
  uint32_t rows;
  int64_t from;
  int64_t to;  // no_entity for a removal
};

struct EntityResult {
  explicit EntityResult(MemoryCounter &memory) : of_rows(memory), changes(memory) {}

  Buffer<int64_t> of_rows;
  Buffer<EntityChange> changes;  // in the order of the entities that the rows came from and belong to
  uint32_t added = 0;            // new entities: they are -1, -2, ... in the order of their smallest row ids
};

// Gives each group an entity. Each pair of a group and a former entity shares some rows. The pair that shares
// the most comes first, then the one of the smaller entity, then the one whose shared rows have the smallest
// id. The first pair makes the group go on with the entity's id, and so does each later one whose group and
// entity are both free. So of groups that merge the id of the largest stays, and the largest part of a group
// that is split keeps the id.
EntityResult assign_entities(const EntityRows &rows, MemoryCounter &memory, const StopFlag &stop);

}  // namespace simjoin
