#include "pg/base/shared_progress.hpp"

extern "C" {
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
}

#include <array>

#include "core/base/thread_budget.hpp"
#include "pg/base/compat.hpp"

namespace simjoin::pg {
namespace {

SharedProgress *shared = nullptr;
shmem_startup_hook_type next_startup_hook = nullptr;

std::array<pg_atomic_uint64 *, 7> counts_of(JoinTotals *totals) {
  return {&totals->joins,       &totals->rows,          &totals->pairs,          &totals->gpu_joins,
          &totals->gpu_notices, &totals->spilled_joins, &totals->temporary_bytes};
}

void attach() {
  if (next_startup_hook != nullptr) next_startup_hook();
  bool found;
  LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
  shared = static_cast<SharedProgress *>(ShmemInitStruct("simjoin progress", sizeof(SharedProgress), &found));
  if (!found) {
    for (pg_atomic_uint64 *total : counts_of(&shared->totals)) pg_atomic_init_u64(total, 0);
    pg_atomic_init_u64(&shared->totals.reset, 0);
    reset_totals(&shared->totals);
    new (&shared->threads) std::atomic<int>(0);
    for (ProgressSlot &slot : shared->slots) {
      SpinLockInit(&slot.lock);
      slot.progress = {};
    }
  }
  LWLockRelease(AddinShmemInitLock);
  set_thread_count(&shared->threads);
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

void reset_totals(JoinTotals *totals) {
  for (pg_atomic_uint64 *total : counts_of(totals)) pg_atomic_write_u64(total, 0);
  pg_atomic_write_u64(&totals->reset, static_cast<uint64>(GetCurrentTimestamp()));
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
