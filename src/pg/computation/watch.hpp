// How far a session's computations are: for the server's view of them, the client and the log.
//
// The functions do nothing for a computation that is not watched: without shared memory (shared_progress),
// simjoin.progress_interval and simjoin.log_min_duration. A computation is named by a key, the address of
// something that it has alone, such as its engine or its memory context.
#pragma once

#include "pg/base/pg.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/device/gpu_attempt.hpp"
#include "core/join.hpp"
#include "pg/computation/shared_progress.hpp"

namespace simjoin::pg {

// What a computation knows of itself.
struct WatchFigures {
  uint64_t memory_peak = unknown_bytes;
  uint64_t temporary_bytes = unknown_bytes;
  double share_done = unknown_share;  // of the phase after reading
  bool streams = false;               // it works while it reads
  std::string device;                 // empty until it is known
};

// Watches the engine's join, which lives as long as the context, from now on. `name` is what it is shown as.
// If the engine takes the place of another one, with all its rows, the two count as one join.
void watch_join(const JoinEngine *engine, MemoryContext context, const char *name,
                const JoinEngine *instead_of = nullptr);

// Returns what is known of a computation that may run on a GPU.
WatchFigures figures_of(const GpuAttempt &attempt);

// Watches another computation until the context ends. figures(work) tells what it knows, and may throw.
using FiguresOfWork = WatchFigures (*)(const void *work);
void watch_computation(const void *key, MemoryContext context, const char *name, const void *work,
                       FiguresOfWork figures);

// Adds to the number of rows that the computation is thought to read.
void expect_rows(const void *key, double rows);

// Notes that the computation has read a row, or several. note_query_row is for the row of a query, and does
// nothing for a join, which notes the rows that its engine gets.
void note_row(const void *key);
void note_rows(const void *key, uint32_t count);
void note_query_row(const void *key);

// Notes a step of the engine, which has given so many pairs. The last step adds the join to the server's
// totals, and writes to the log if the join has taken as long as the setting says.
void note_step(const JoinEngine *engine, StepResult result, size_t pairs);

// Notes that a computation that is no join has read all its rows, and works.
void note_work(const void *key);
// Shows how far it is.
void show_work(const void *key);
// Notes that it has ended well: adds it to the server's totals, and writes to the log as note_step does.
void note_end(const void *key);
// Notes that it ends well with its context, unless that ends by an error. It is then not written to the log.
void note_end_with_context(const void *key);

// Notes that the computation that was begun last has left a GPU.
void note_gpu_notice();

}  // namespace simjoin::pg
