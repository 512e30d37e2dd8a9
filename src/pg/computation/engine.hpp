// Engines in PostgreSQL's hands: owned by a memory context, stepped with interrupt checks.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "storage/fd.h"
}

#include "core/join.hpp"

namespace simjoin::pg {

// Returns a new engine, shown to other sessions by this name, that lives as long as the context: resetting or
// deleting it stops the engine's threads and frees its memory, also after an ERROR. If it takes the place of
// another engine, it gets the rows of that one, too. `weighted`: it joins sets with weights.
JoinEngine *create_engine(const JoinSpec &spec, bool weighted, MemoryContext context, const char *name,
                          const JoinEngine *instead_of = nullptr);

// Call it after the sets of `count` rows: the session tells how far it is, and the engine gets a temporary
// file where its sets have outgrown its memory limit.
// `*file` is PostgreSQL's number of the file, and 0 before. The file lies in temp_tablespaces and belongs to
// the current resource owner: close_spill_file closes it, after an error PostgreSQL.
void end_rows(JoinEngine *engine, uint32_t count, File *file);

// Call it after every set that is fed alone.
inline void end_row(JoinEngine *engine, File *file) {
  end_rows(engine, 1, file);
}

// Closes the engine's file, if it has one, so that PostgreSQL's statistics count the file. The engine must
// not be stepped again.
void close_spill_file(File *file);

// Returns an empty batch that lives as long as the context.
Batch *create_batch(MemoryContext context);

// Replaces the batch by the engine's next one, which has at least one pair. Returns false at the end.
// Interrupts are processed at least every few tens of milliseconds. The first call ends the engine's input.
// With `by_left_row` the pairs are in the order of their left rows, then of their right rows.
bool next_batch(JoinEngine *engine, File *spill_file, Batch *batch, bool by_left_row = false);

}  // namespace simjoin::pg
