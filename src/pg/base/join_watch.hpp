// What a session tells of its joins while they run: to the server's view of them, and to the log.
//
// The functions do nothing for a join that nobody watches: without shared memory (shared_progress) and
// without simjoin.log_min_duration.
#pragma once

#include "pg/base/pg.hpp"

#include <cstddef>

#include "core/join.hpp"

namespace simjoin::pg {

// Watches the engine, which lives as long as the context, from now on. If it takes the place of another one,
// with all its rows, the two count as one join.
void watch_join(const JoinEngine *engine, MemoryContext context, const JoinEngine *instead_of = nullptr);

// Notes that a row was added to the engine.
void note_row(const JoinEngine *engine);

// Notes a step of the engine, which has given so many pairs. The last step adds the join to the server's
// totals, and writes to the log if the join has taken as long as the setting says.
void note_step(const JoinEngine *engine, StepResult result, size_t pairs);

// Notes that a computation has left a GPU.
void note_gpu_notice();

}  // namespace simjoin::pg
