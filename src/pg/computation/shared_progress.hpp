// What all sessions of a server tell of their computations, in shared memory. It is there if simjoin is one
// of shared_preload_libraries.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "storage/spin.h"
#include "utils/timestamp.h"
}

#include <atomic>
#include <cstdint>

#include "core/base/memory_budget.hpp"

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

// What the server's computations of one name that ran to their end have done.
struct Totals {
  char name[NAMEDATALEN];  // empty: nobody's
  bool is_join;            // else there are no pairs and temporary files
  uint64_t calls;
  uint64_t microseconds;
  uint64_t rows;
  uint64_t pairs;
  uint64_t gpu_calls;      // that ended on a GPU
  uint64_t gpu_notices;    // that left a GPU, also those that did not end
  uint64_t spilled_calls;  // with a temporary file
  uint64_t temporary_bytes;
};

// What the server's sessions have done since `reset`. Plain data, which is copied under a spinlock. The
// extension's code has fewer names than there are entries, and no name comes from a role. Entries without a
// name come last.
struct AllTotals {
  TimestampTz reset;
  Totals entries[64];
};

struct ProgressSlot {
  slock_t lock;
  Progress progress;
};

// Computations beyond this number run unseen.
inline constexpr int progress_slots = 1024;

struct SharedProgress {
  slock_t totals_lock;
  AllTotals totals;
  std::atomic<int> threads;  // of the pools of all sessions; see core/base/thread_budget
  MemoryAccount memory;      // that their computations have drawn
  ProgressSlot slots[progress_slots];
};

// Returns the server's shared state; null if the library was not preloaded.
SharedProgress *shared_progress();

// Asks for the shared memory. Called while the server loads its shared_preload_libraries.
void request_shared_progress();

// Adds to the totals of the computations with this name.
void add_totals(const Totals &more);

// Returns a copy of all totals.
AllTotals read_totals();

// Forgets all totals.
void reset_totals();

// Returns the slot's content. It is all zeros if no computation has the slot.
Progress read_slot(ProgressSlot *slot);

// Takes a free slot for the computation. Returns null if there is none.
ProgressSlot *claim_slot(const Progress &progress);

// Replaces the content of a slot that this process has.
void write_slot(ProgressSlot *slot, const Progress &progress);

}  // namespace simjoin::pg
