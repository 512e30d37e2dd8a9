#include "pg/base/join_watch.hpp"

extern "C" {
#include "miscadmin.h"
#include "utils/timestamp.h"
}

#include <cstring>
#include <memory>

#include "pg/base/errors.hpp"
#include "pg/base/settings.hpp"
#include "pg/base/shared_progress.hpp"

namespace simjoin::pg {
namespace {

// The session's view of one of its joins. Those that run form a list, the newest first.
struct JoinWatch {
  explicit JoinWatch(const JoinEngine *watched) : engine(watched), next(newest) { newest = this; }
  ~JoinWatch() {
    if (slot != nullptr) write_slot(slot, {});
    JoinWatch **link = &newest;
    while (*link != this) link = &(*link)->next;
    *link = next;
  }
  JoinWatch(const JoinWatch &) = delete;
  JoinWatch &operator=(const JoinWatch &) = delete;

  static inline JoinWatch *newest = nullptr;

  const JoinEngine *engine;
  JoinWatch *next;
  ProgressSlot *slot = nullptr;
  JoinProgress join = {};
  TimestampTz published = 0;
  bool ended = false;
};

constexpr long publish_every_ms = 100;
constexpr uint64_t rows_between_looks_at_the_clock = 1024;

JoinWatch *watch_of(const JoinEngine *engine) {
  JoinWatch *watch = JoinWatch::newest;
  while (watch != nullptr && watch->engine != engine) watch = watch->next;
  return watch;
}

// Takes the engine's figures over.
void take_figures(JoinWatch *watch) {
  call_cpp([&] {
    const JoinStats stats = watch->engine->stats();
    watch->join.memory_peak = stats.memory_peak;
    watch->join.temporary_bytes = stats.spilled_bytes;
    strlcpy(watch->join.device, stats.device.c_str(), sizeof watch->join.device);
  });
}

// Shows other sessions how far the join is, from time to time.
void publish(JoinWatch *watch) {
  const TimestampTz now = GetCurrentTimestamp();
  if (watch->slot == nullptr || !TimestampDifferenceExceeds(watch->published, now, publish_every_ms)) return;
  watch->published = now;
  take_figures(watch);
  write_slot(watch->slot, watch->join);
}

void add_to_totals(const JoinProgress &join) {
  SharedProgress *shared = shared_progress();
  if (shared == nullptr) return;
  JoinTotals *totals = &shared->totals;
  pg_atomic_fetch_add_u64(&totals->joins, 1);
  pg_atomic_fetch_add_u64(&totals->rows, static_cast<int64>(join.rows));
  pg_atomic_fetch_add_u64(&totals->pairs, static_cast<int64>(join.pairs));
  if (std::strncmp(join.device, "cpu", sizeof join.device) != 0)
    pg_atomic_fetch_add_u64(&totals->gpu_joins, 1);
  if (join.temporary_bytes > 0) pg_atomic_fetch_add_u64(&totals->spilled_joins, 1);
  pg_atomic_fetch_add_u64(&totals->temporary_bytes, static_cast<int64>(join.temporary_bytes));
}

void log_long_join(const JoinProgress &join) {
  const int least_ms = Settings::log_min_duration_ms();
  const TimestampTz now = GetCurrentTimestamp();
  if (least_ms < 0 || !TimestampDifferenceExceeds(join.started, now, least_ms)) return;
  ereport(LOG,
          (errmsg("similarity join: %llu pairs of %llu rows in %lld ms",
                  static_cast<unsigned long long>(join.pairs), static_cast<unsigned long long>(join.rows),
                  static_cast<long long>((now - join.started) / 1000)),
           errdetail("Device: %s, memory: %llu kB, temporary files: %llu kB.", join.device,
                     static_cast<unsigned long long>(join.memory_peak / 1024),
                     static_cast<unsigned long long>(join.temporary_bytes / 1024))));
}

}  // namespace

void watch_join(const JoinEngine *engine, MemoryContext context, const JoinEngine *instead_of) {
  if (instead_of != nullptr) {
    if (JoinWatch *watch = watch_of(instead_of)) watch->engine = engine;
    return;
  }
  if (shared_progress() == nullptr && Settings::log_min_duration_ms() < 0) return;
  JoinWatch *watch = own(context, [&] { return std::make_unique<JoinWatch>(engine); });
  JoinProgress &join = watch->join;
  join.pid = MyProcPid;
  join.database = MyDatabaseId;
  join.role = GetUserId();
  join.started = watch->published = GetCurrentTimestamp();
  if (shared_progress() != nullptr) watch->slot = claim_slot(join);
}

void note_row(const JoinEngine *engine) {
  JoinWatch *watch = JoinWatch::newest == nullptr ? nullptr : watch_of(engine);
  if (watch != nullptr && ++watch->join.rows % rows_between_looks_at_the_clock == 0) publish(watch);
}

void note_step(const JoinEngine *engine, StepResult result, size_t pairs) {
  JoinWatch *watch = watch_of(engine);
  if (watch == nullptr) return;
  if (watch->join.phase == JoinPhaseShown::reading) watch->published = 0;
  watch->join.phase = JoinPhaseShown::joining;
  if (result == StepResult::batch) watch->join.pairs += pairs;
  publish(watch);
  if (result != StepResult::done || watch->ended) return;
  watch->ended = true;
  take_figures(watch);
  add_to_totals(watch->join);
  log_long_join(watch->join);
}

void note_gpu_notice() {
  if (SharedProgress *shared = shared_progress()) pg_atomic_fetch_add_u64(&shared->totals.gpu_notices, 1);
}

}  // namespace simjoin::pg
