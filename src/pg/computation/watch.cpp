#include "pg/computation/watch.hpp"

extern "C" {
#include "access/xact.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/timestamp.h"
}

#include <algorithm>
#include <cstring>
#include <memory>

#include "pg/base/errors.hpp"
#include "pg/base/settings.hpp"
#include "pg/computation/shared_progress.hpp"

namespace simjoin::pg {
namespace {

bool is_join(const Progress &progress) {
  return progress.pairs != no_pairs;
}

// Returns totals of the computation, so far all 0.
Totals totals_for(const Progress &progress) {
  Totals totals = {};
  strlcpy(totals.name, progress.name, sizeof totals.name);
  totals.is_join = is_join(progress);
  return totals;
}

// Adds a computation that has ended to the server's totals.
void count_end(const Progress &progress) {
  if (shared_progress() == nullptr) return;
  Totals totals = totals_for(progress);
  totals.calls = 1;
  totals.microseconds = static_cast<uint64_t>(std::max<int64>(GetCurrentTimestamp() - progress.started, 0));
  totals.rows = progress.rows;
  totals.gpu_calls = progress.device[0] != '\0' && std::strcmp(progress.device, "cpu") != 0;
  if (totals.is_join) {
    totals.pairs = progress.pairs;
    totals.spilled_calls = progress.temporary_bytes > 0;
    totals.temporary_bytes = progress.temporary_bytes;
  }
  add_totals(totals);
}

// The session's view of one of its computations. Those that run form a list, the newest first.
struct Watch {
  explicit Watch(const void *watched) : key(watched), next(newest) { newest = this; }
  ~Watch() {
    // An abort of a transaction or a part of it changes its state before it ends contexts, and so does a
    // commit.
    if (ends_with_context && (IsTransactionState() || committed)) count_end(progress);
    if (slot != nullptr) write_slot(slot, {});
    Watch **link = &newest;
    while (*link != this) link = &(*link)->next;
    *link = next;
  }
  Watch(const Watch &) = delete;
  Watch &operator=(const Watch &) = delete;

  static inline Watch *newest = nullptr;

  const void *key;
  const JoinEngine *engine = nullptr;  // of a join
  const void *work = nullptr;          // of another computation
  FiguresOfWork figures = nullptr;
  Watch *next;
  ProgressSlot *slot = nullptr;
  Progress progress = {};
  double rows_expected = 0;  // 0: unknown
  TimestampTz published = 0;
  TimestampTz told = 0;  // when the client was told last
  // Since when the work goes on at one speed, as far as is known, and the share that was done then.
  TimestampTz speed_began = 0;
  double speed_share = 0;
  bool ended = false;
  bool ends_with_context = false;
  bool committed = false;  // the transaction in which it ran
};

void note_transaction(XactEvent event, void *) {
  if (event != XACT_EVENT_COMMIT) return;
  for (Watch *watch = Watch::newest; watch != nullptr; watch = watch->next) watch->committed = true;
}

constexpr long publish_every_ms = 100;
constexpr uint64_t rows_between_looks_at_the_clock = 64;
constexpr double least_share_to_go_by = 0.01;

Watch *watch_of(const void *key) {
  Watch *watch = Watch::newest;
  while (watch != nullptr && watch->key != key) watch = watch->next;
  return watch;
}

WatchFigures figures_of_engine(const JoinEngine &engine) {
  const JoinStats stats = engine.stats();
  return {stats.memory_peak, stats.spilled_bytes, engine.share_done(), !stats.streamed.empty(), stats.device};
}

// Takes the computation's figures over.
void take_figures(Watch *watch) {
  call_cpp([&] {
    const WatchFigures figures =
        watch->engine != nullptr ? figures_of_engine(*watch->engine) : watch->figures(watch->work);
    Progress &progress = watch->progress;
    progress.memory_peak = figures.memory_peak;
    progress.temporary_bytes = figures.temporary_bytes;
    const bool reads = progress.phase == ProgressPhase::reading || figures.streams;
    progress.share_done = figures.share_done;
    if (reads && watch->rows_expected > 0)
      progress.share_done = std::min(1.0, static_cast<double>(progress.rows) / watch->rows_expected);
    else if (reads && progress.phase == ProgressPhase::reading)
      progress.share_done = unknown_share;
    strlcpy(progress.device, figures.device.c_str(), sizeof progress.device);
  });
}

// Appends how long the rest of the phase takes if it goes on as fast as so far, where that can be told.
void append_time_left(StringInfo text, const Watch &watch, TimestampTz now) {
  const double share = watch.progress.share_done, since = share - watch.speed_share;
  if (since < least_share_to_go_by) return;
  const double seconds = static_cast<double>(now - watch.speed_began) * 1e-6 * (1 - share) / since;
  if (seconds < 100)
    appendStringInfo(text, ", about %.0f s left", seconds);
  else if (seconds < 100 * 60)
    appendStringInfo(text, ", about %.0f min left", seconds / 60);
  else
    appendStringInfo(text, ", about %.0f h left", seconds / (60 * 60));
}

// Returns whether the session's user may know the figures: not those of a function with another role's
// rights.
bool may_be_told(const Progress &progress) {
  return has_privs_of_role(GetOuterUserId(), progress.role);
}

// Tells the client how far the computation is.
void tell_client(const Watch &watch, TimestampTz now) {
  static constexpr const char *phases[] = {"reading", "joining", "computing"};
  const Progress &progress = watch.progress;
  StringInfoData text;
  initStringInfo(&text);
  if (progress.share_done >= 0)
    appendStringInfo(&text, "%d %%, ", static_cast<int>(100 * progress.share_done));
  if (is_join(progress) && progress.phase != ProgressPhase::reading)
    appendStringInfo(&text, UINT64_FORMAT " pairs", progress.pairs);
  else
    appendStringInfo(&text, UINT64_FORMAT " rows", progress.rows);
  append_time_left(&text, watch, now);
  HOLD_INTERRUPTS();  // a message would process them, before computations are given up
  ereport(NOTICE,
          (errmsg("%s, %s: %s", progress.name, phases[static_cast<size_t>(progress.phase)], text.data),
           errhidecontext(true)));
  RESUME_INTERRUPTS();
  pfree(text.data);
}

// What comes before the search of a join says nothing of the time that the search takes.
void note_search(Watch *watch, TimestampTz now) {
  const Progress &progress = watch->progress;
  if (progress.phase != ProgressPhase::joining || watch->speed_share > 0) return;
  if (progress.share_done < share_before_search) return;
  watch->speed_began = now;
  watch->speed_share = progress.share_done;
}

// Shows other sessions and the client how far the computation is, from time to time.
void publish(Watch *watch) {
  const TimestampTz now = GetCurrentTimestamp();
  const int interval = Settings::progress_interval_ms();
  const bool shows =
      watch->slot != nullptr && TimestampDifferenceExceeds(watch->published, now, publish_every_ms);
  const bool tells = interval > 0 && !watch->ended && TimestampDifferenceExceeds(watch->told, now, interval);
  if (!shows && !tells) return;
  take_figures(watch);
  note_search(watch, now);
  if (shows) {
    watch->published = now;
    write_slot(watch->slot, watch->progress);
  }
  if (tells) {
    if (may_be_told(watch->progress)) tell_client(*watch, now);
    watch->told = GetCurrentTimestamp();
  }
}

void enter_phase(Watch *watch, ProgressPhase phase) {
  if (watch->progress.phase == phase) return;
  watch->published = 0;
  watch->speed_began = GetCurrentTimestamp();
  watch->speed_share = 0;
  watch->progress.phase = phase;
}

unsigned long long kilobytes(uint64_t bytes) {
  return static_cast<unsigned long long>(bytes / 1024);
}

// Writes a computation that has ended to the log if it has taken as long as the setting says.
void log_if_long(const Progress &progress) {
  const int least_ms = Settings::log_min_duration_ms();
  const TimestampTz now = GetCurrentTimestamp();
  if (least_ms < 0 || !TimestampDifferenceExceeds(progress.started, now, least_ms)) return;
  const auto rows = static_cast<unsigned long long>(progress.rows);
  const auto ms = static_cast<long long>((now - progress.started) / 1000);
  if (is_join(progress))
    ereport(LOG, (errmsg("%s: %llu pairs of %llu rows in %lld ms", progress.name,
                         static_cast<unsigned long long>(progress.pairs), rows, ms),
                  errdetail("Device: %s, memory: %llu kB, temporary files: %llu kB.", progress.device,
                            kilobytes(progress.memory_peak), kilobytes(progress.temporary_bytes))));
  else
    ereport(LOG, (errmsg("%s: %llu rows in %lld ms", progress.name, rows, ms),
                  progress.device[0] == '\0' ? 0 : errdetail("Device: %s.", progress.device)));
}

// Takes notice of the computation's end.
void end(Watch *watch) {
  take_figures(watch);
  count_end(watch->progress);
  log_if_long(watch->progress);
}

// Begins to watch, unless nobody looks.
Watch *begin_watch(const void *key, MemoryContext context, const char *name) {
  if (shared_progress() == nullptr && Settings::log_min_duration_ms() < 0 &&
      Settings::progress_interval_ms() == 0)
    return nullptr;
  Watch *watch = own(context, [&] { return std::make_unique<Watch>(key); });
  Progress &progress = watch->progress;
  progress.pid = MyProcPid;
  progress.database = MyDatabaseId;
  progress.role = GetUserId();
  progress.started = watch->published = watch->told = watch->speed_began = GetCurrentTimestamp();
  progress.share_done = unknown_share;
  strlcpy(progress.name, name, sizeof progress.name);
  return watch;
}

}  // namespace

void watch_join(const JoinEngine *engine, MemoryContext context, const char *name,
                const JoinEngine *instead_of) {
  Watch *watch = instead_of == nullptr ? nullptr : watch_of(instead_of);
  if (instead_of == nullptr) {
    watch = begin_watch(engine, context, name);
    if (watch != nullptr && shared_progress() != nullptr) watch->slot = claim_slot(watch->progress);
  }
  if (watch != nullptr) watch->key = watch->engine = engine;
}

WatchFigures figures_of(const GpuAttempt &attempt) {
  WatchFigures figures;
  figures.device = attempt.outcome().gpu ? "gpu" : "cpu";
  return figures;
}

void watch_computation(const void *key, MemoryContext context, const char *name, const void *work,
                       FiguresOfWork figures) {
  Watch *watch = begin_watch(key, context, name);
  if (watch == nullptr) return;
  watch->work = work;
  watch->figures = figures;
  watch->progress.pairs = no_pairs;
  watch->progress.memory_peak = watch->progress.temporary_bytes = unknown_bytes;
  if (shared_progress() != nullptr) watch->slot = claim_slot(watch->progress);
}

void expect_rows(const void *key, double rows) {
  if (Watch *watch = watch_of(key)) watch->rows_expected += rows;
}

void note_rows(const void *key, uint32_t count) {
  Watch *watch = Watch::newest == nullptr ? nullptr : watch_of(key);
  if (watch == nullptr) return;
  const uint64_t before = watch->progress.rows / rows_between_looks_at_the_clock;
  watch->progress.rows += count;
  if (watch->progress.rows / rows_between_looks_at_the_clock != before) publish(watch);
}

void note_row(const void *key) {
  note_rows(key, 1);
}

void note_query_row(const void *key) {
  const Watch *watch = Watch::newest == nullptr ? nullptr : watch_of(key);
  if (watch != nullptr && watch->engine == nullptr) note_row(key);
}

void note_step(const JoinEngine *engine, StepResult result, size_t pairs) {
  Watch *watch = watch_of(engine);
  if (watch == nullptr) return;
  enter_phase(watch, ProgressPhase::joining);
  if (result == StepResult::batch) watch->progress.pairs += pairs;
  publish(watch);
  if (result != StepResult::done || watch->ended) return;
  watch->ended = true;
  end(watch);
}

void note_work(const void *key) {
  Watch *watch = watch_of(key);
  if (watch == nullptr) return;
  enter_phase(watch, ProgressPhase::computing);
  publish(watch);
}

void show_work(const void *key) {
  if (Watch *watch = watch_of(key)) publish(watch);
}

void note_end(const void *key) {
  if (Watch *watch = watch_of(key)) end(watch);
}

void note_end_with_context(const void *key) {
  Watch *watch = watch_of(key);
  if (watch == nullptr) return;
  static bool registered = false;
  if (!registered) RegisterXactCallback(note_transaction, nullptr);
  registered = true;
  watch->ends_with_context = true;
}

void note_gpu_notice() {
  if (shared_progress() == nullptr || Watch::newest == nullptr) return;
  Totals totals = totals_for(Watch::newest->progress);
  totals.gpu_notices = 1;
  add_totals(totals);
}

}  // namespace simjoin::pg
