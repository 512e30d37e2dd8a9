// What all sessions of a server tell of their computations, in shared memory. It is there if simjoin is one
// of shared_preload_libraries.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "port/atomics.h"
#include "storage/spin.h"
#include "utils/timestamp.h"
}

#include <atomic>
#include <cstdint>

namespace simjoin::pg {

enum class ProgressPhase : uint8_t { reading, joining, computing };

inline constexpr uint64_t no_pairs = UINT64_MAX, unknown_bytes = UINT64_MAX;

// What is known of one computation that runs. Plain data, which is copied under a spinlock.
struct Progress {
  int pid;  // 0: nobody's
  Oid database;
  Oid role;
  TimestampTz started;
  ProgressPhase phase;
  double share_done;         // of the phase, from 0 to 1; negative: unknown
  uint64_t rows;             // read so far; of a join, from both sides
  uint64_t pairs;            // found so far; no_pairs of what is no join
  uint64_t memory_peak;      // bytes; like the next one, unknown_bytes where nobody knows
  uint64_t temporary_bytes;  // written to temporary files
  char name[NAMEDATALEN];    // of the function, or what else it is
  char device[48];           // empty until it is known
};

// What the server's sessions have done since `reset`.
struct JoinTotals {
  pg_atomic_uint64 joins;  // that ran to their end
  pg_atomic_uint64 rows;
  pg_atomic_uint64 pairs;
  pg_atomic_uint64 gpu_joins;      // of these joins, those that ended on a GPU
  pg_atomic_uint64 gpu_notices;    // computations that left a GPU
  pg_atomic_uint64 spilled_joins;  // with a temporary file
  pg_atomic_uint64 temporary_bytes;
  pg_atomic_uint64 reset;  // a TimestampTz
};

struct ProgressSlot {
  slock_t lock;
  Progress progress;
};

// Computations beyond this number run unseen.
inline constexpr int progress_slots = 1024;

struct SharedProgress {
  JoinTotals totals;
  std::atomic<int> threads;  // of the pools of all sessions; see core/base/thread_budget
  ProgressSlot slots[progress_slots];
};

// Returns the server's shared state; null if the library was not preloaded.
SharedProgress *shared_progress();

// Asks for the shared memory. Called while the server loads its shared_preload_libraries.
void request_shared_progress();

// Sets all totals to 0.
void reset_totals(JoinTotals *totals);

// Returns the slot's content. It is all zeros if no computation has the slot.
Progress read_slot(ProgressSlot *slot);

// Takes a free slot for the computation. Returns null if there is none.
ProgressSlot *claim_slot(const Progress &progress);

// Replaces the content of a slot that this process has.
void write_slot(ProgressSlot *slot, const Progress &progress);

}  // namespace simjoin::pg
