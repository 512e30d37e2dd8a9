// How a row comes to a trigger BEFORE INSERT: new, or moved from another partition by an UPDATE, which
// deletes the row there and inserts it here.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "commands/trigger.h"
}

#include "pg/guard/guard.hpp"

namespace simjoin::pg {

enum class Arrival : uint8_t {
  stored,   // it is new, or updated where it is
  moved,    // from a partition whose rows count, too, and whose triggers for updates have seen the row
  entered,  // from a partition whose rows do not count
  unknown   // it is taken for a new one
};

Arrival arrival_of(const Guard &guard, const TriggerData &data);

// Errors, now or when the statement has run, if the row could not be taken for a new one. `context` is the
// statement's.
void check_was_new(const Guard &guard, const TriggerData &data, MemoryContext context);

}  // namespace simjoin::pg
