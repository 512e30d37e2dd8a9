// Engines in PostgreSQL's hands: owned by a memory context, stepped with interrupt checks.
#pragma once

#include "pg/pg.hpp"

#include "core/join.hpp"

namespace simjoin::pg {

// Returns a new engine that lives as long as the context: resetting or deleting it stops the engine's threads
// and frees its memory, also after an ERROR.
JoinEngine *create_engine(const JoinSpec &spec, MemoryContext context);

// Returns an empty batch that lives as long as the context.
Batch *create_batch(MemoryContext context);

// Replaces the batch by the engine's next one, of at least one pair; false at the end. Interrupts are
// processed at least every few tens of milliseconds. The first call ends the engine's input. With
// `by_left_row` the pairs of the batch are in the order of their left rows, then their right ones.
bool next_batch(JoinEngine *engine, Batch *batch, bool by_left_row = false);

}  // namespace simjoin::pg
