#include "pg/computation/shared_progress.hpp"

extern "C" {
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
}

#include <cstring>

#include "core/base/thread_budget.hpp"
#include "pg/base/compat.hpp"

namespace simjoin::pg {
namespace {

SharedProgress *shared = nullptr;
shmem_startup_hook_type next_startup_hook = nullptr;

constexpr uint64_t Totals::*counts[] = {&Totals::calls,         &Totals::microseconds,   &Totals::rows,
                                        &Totals::pairs,         &Totals::gpu_calls,      &Totals::gpu_notices,
                                        &Totals::spilled_calls, &Totals::temporary_bytes};

void attach() {
  if (next_startup_hook != nullptr) next_startup_hook();
  bool found;
  LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
  shared = static_cast<SharedProgress *>(ShmemInitStruct("simjoin progress", sizeof(SharedProgress), &found));
  if (!found) {
    SpinLockInit(&shared->totals_lock);
    reset_totals();
    new (&shared->threads) std::atomic<int>(0);
    new (&shared->memory) MemoryAccount();
    for (ProgressSlot &slot : shared->slots) {
      SpinLockInit(&slot.lock);
      slot.progress = {};
    }
  }
  LWLockRelease(AddinShmemInitLock);
  set_thread_count(&shared->threads);
  set_memory_account(&shared->memory);
}

}  // namespace

SharedProgress *shared_progress() {
  return shared;
}

void request_shared_progress() {
  compat::request_shared_memory(sizeof(SharedProgress));
  next_startup_hook = shmem_startup_hook;
  shmem_startup_hook = attach;
}

void add_totals(const Totals &more) {
  SpinLockAcquire(&shared->totals_lock);
  for (Totals &entry : shared->totals.entries) {
    if (entry.name[0] == '\0') {
      strlcpy(entry.name, more.name, sizeof entry.name);
      entry.is_join = more.is_join;
    }
    if (std::strncmp(entry.name, more.name, sizeof entry.name) != 0) continue;
    for (const auto count : counts) entry.*count += more.*count;
    break;
  }
  SpinLockRelease(&shared->totals_lock);
}

AllTotals read_totals() {
  SpinLockAcquire(&shared->totals_lock);
  const AllTotals totals = shared->totals;
  SpinLockRelease(&shared->totals_lock);
  return totals;
}

void reset_totals() {
  const TimestampTz now = GetCurrentTimestamp();
  SpinLockAcquire(&shared->totals_lock);
  shared->totals = {};
  shared->totals.reset = now;
  SpinLockRelease(&shared->totals_lock);
}

Progress read_slot(ProgressSlot *slot) {
  SpinLockAcquire(&slot->lock);
  const Progress progress = slot->progress;
  SpinLockRelease(&slot->lock);
  return progress;
}

ProgressSlot *claim_slot(const Progress &progress) {
  // Each process begins elsewhere, so that the first slot is nearly always free.
  for (int i = 0; i < progress_slots; ++i) {
    ProgressSlot *slot = &shared->slots[(MyProcPid + i) % progress_slots];
    SpinLockAcquire(&slot->lock);
    const bool free = slot->progress.pid == 0;
    if (free) slot->progress = progress;
    SpinLockRelease(&slot->lock);
    if (free) return slot;
  }
  return nullptr;
}

void write_slot(ProgressSlot *slot, const Progress &progress) {
  SpinLockAcquire(&slot->lock);
  slot->progress = progress;
  SpinLockRelease(&slot->lock);
}

}  // namespace simjoin::pg
