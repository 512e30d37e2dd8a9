// What all sessions of a server tell of their joins, in shared memory. It is there if simjoin is one of
// shared_preload_libraries.
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

enum class JoinPhaseShown : uint8_t { reading, joining };

// What is known of one join that runs. Plain data, which is copied under a spinlock.
struct JoinProgress {
  int pid;  // 0: nobody's
  Oid database;
  Oid role;
  TimestampTz started;
  JoinPhaseShown phase;
  uint64_t rows;             // read so far, of both sides
  uint64_t pairs;            // found so far
  uint64_t memory_peak;      // bytes
  uint64_t temporary_bytes;  // written to temporary files
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
  JoinProgress join;
};

// Joins beyond this number run unseen.
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

// Returns the slot's content. It is all zeros if no join has the slot.
JoinProgress read_slot(ProgressSlot *slot);

// Takes a free slot for the join. Returns null if there is none.
ProgressSlot *claim_slot(const JoinProgress &join);

// Replaces the content of a slot that this process has.
void write_slot(ProgressSlot *slot, const JoinProgress &join);

}  // namespace simjoin::pg
