#include "pg/service/gpu_service.hpp"

#include "pg/base/pg.hpp"

extern "C" {
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"
}

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "gpu_service/client/client_backend.hpp"
#include "gpu_service/server/cpu_backend.hpp"
#include "gpu_service/server/server_process.hpp"
#include "pg/base/errors.hpp"
#include "pg/query/result_rows.hpp"

namespace simjoin::pg {
namespace {

constexpr int least_service_memory_mb = 16, most_service_memory_mb = 1024 * 1024;
constexpr long first_delay_ms = 200, longest_delay_ms = 60'000;
// A service that has run for so long is started anew at once.
constexpr int steady_ms = 10'000;

bool service_on = false;
int service_memory_mb = 512;
bool service_on_cpu = false;
GpuBackend *service_backend = nullptr;     // of the service's process
ClientBackend *session_backend = nullptr;  // of all others

// The folder is the server's, and neither backups nor pg_rewind copy what it holds.
const char *service_path() {
  return PG_STAT_TMP_DIR "/simjoin_gpu_service";
}

void define_service_settings() {
  DefineCustomBoolVariable(
      "simjoin.gpu_service", "Sets whether one process uses the GPU for all sessions.",
      "Joins go there. It has the GPU set up, so that no session that only joins waits for that.",
      &service_on, service_on, PGC_POSTMASTER, 0, nullptr, nullptr, nullptr);
  DefineCustomIntVariable(
      "simjoin.gpu_service_memory", "Sets the memory that the GPU service shares with sessions.",
      "It is page-locked while the server runs. Sets pass through it, or more slowly if it is used up.",
      &service_memory_mb, service_memory_mb, least_service_memory_mb, most_service_memory_mb, PGC_POSTMASTER,
      GUC_UNIT_MB, nullptr, nullptr, nullptr);
  DefineCustomBoolVariable(
      "simjoin.debug_gpu_service_on_cpu", "Sets whether the GPU service works on the CPU, for tests.",
      nullptr, &service_on_cpu, service_on_cpu, PGC_POSTMASTER, GUC_NOT_IN_SAMPLE, nullptr, nullptr, nullptr);
}

void register_keeper() {
  BackgroundWorker worker = {};
  worker.bgw_flags = BGWORKER_SHMEM_ACCESS;
  worker.bgw_start_time = BgWorkerStart_PostmasterStart;
  worker.bgw_restart_time = 5;
  strlcpy(worker.bgw_name, "simjoin GPU service", sizeof worker.bgw_name);
  strlcpy(worker.bgw_type, "simjoin GPU service", sizeof worker.bgw_type);
  strlcpy(worker.bgw_library_name, "simjoin", sizeof worker.bgw_library_name);
  strlcpy(worker.bgw_function_name, "simjoin_gpu_service_main", sizeof worker.bgw_function_name);
  RegisterBackgroundWorker(&worker);
}

// The service's process as its keeper sees it. Its log's end is its own.
struct Child {
  pid_t pid;
  int log;  // the end of a pipe
  TimestampTz started;
  char line[1024];  // that is not complete
  size_t length;
};

// Writes a line of the service to the server's log, but not the same one again and again.
void log_line(const char *line) {
  static char last[1024] = "";
  const bool repeated = std::strcmp(line, last) == 0 && std::strcmp(line, "ready") != 0;
  strlcpy(last, line, sizeof last);
  ereport(repeated ? DEBUG1 : LOG, (errmsg("simjoin GPU service: %s", line)));
}

bool start_child(Child *child) {
  int ends[2];
  *child = {-1, -1, GetCurrentTimestamp(), "", 0};
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  const size_t memory = static_cast<size_t>(service_memory_mb) << 20;
  child->pid =
      call_cpp([&] { return start_server_process(*service_backend, service_path(), memory, ends[1]); });
  close(ends[1]);
  if (child->pid < 0) {
    close(ends[0]);
    return false;
  }
  child->log = ends[0];
  return true;
}

// Logs what the child has written. Returns false at the end, which is the child's.
bool read_log(Child *child) {
  const ssize_t size = read(child->log, child->line + child->length, sizeof child->line - 1 - child->length);
  if (size <= 0) return size < 0 && errno == EINTR;
  child->length += static_cast<size_t>(size);
  child->line[child->length] = '\0';
  while (char *end = std::strchr(child->line, '\n')) {
    *end = '\0';
    log_line(child->line);
    child->length -= static_cast<size_t>(end + 1 - child->line);
    std::memmove(child->line, end + 1, child->length + 1);
  }
  if (child->length == sizeof child->line - 1) child->length = 0;
  return true;
}

void end_child(Child *child) {
  int status = 0;
  kill(child->pid, SIGKILL);
  while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
  }
  close(child->log);
  if (!ShutdownRequestPending && WIFSIGNALED(status))
    ereport(LOG, (errmsg("simjoin GPU service: ended by signal %d", WTERMSIG(status)),
                  errdetail("What it worked on goes on in the sessions. The service is started again.")));
  child->pid = -1;
}

// Waits for the latch, for the child's log if there is a child, or for some time if that is not negative.
void wait_for_events(const Child &child, long milliseconds) {
  const int timeout = milliseconds >= 0 ? WL_TIMEOUT : 0;
  const int socket = child.pid > 0 ? WL_SOCKET_READABLE : 0;
  WaitLatchOrSocket(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | timeout | socket,
                    child.pid > 0 ? child.log : PGINVALID_SOCKET, milliseconds, PG_WAIT_EXTENSION);
  ResetLatch(MyLatch);
  CHECK_FOR_INTERRUPTS();
}

// Keeps a child running until the server stops.
void keep_child() {
  Child child = {-1, -1, 0, "", 0};
  long delay = first_delay_ms;
  while (!ShutdownRequestPending) {
    if (child.pid < 0 && !start_child(&child)) {
      ereport(LOG, (errmsg("simjoin GPU service: could not be started: %m")));
    }
    if (child.pid > 0) {
      wait_for_events(child, -1);
      pollfd look = {child.log, POLLIN, 0};
      if (poll(&look, 1, 0) <= 0 || read_log(&child)) continue;
      if (ShutdownRequestPending) break;
      if (TimestampDifferenceExceeds(child.started, GetCurrentTimestamp(), steady_ms)) delay = first_delay_ms;
      end_child(&child);
    }
    const TimestampTz until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), delay);
    while (!ShutdownRequestPending && GetCurrentTimestamp() < until)
      wait_for_events(child, TimestampDifferenceMilliseconds(GetCurrentTimestamp(), until));
    delay = Min(2 * delay, longest_delay_ms);
  }
  if (child.pid > 0) end_child(&child);
}

}  // namespace

void install_gpu_service(GpuBackend *own) {
  define_service_settings();
  if (!service_on || IsBinaryUpgrade) return;
  static CpuBackend cores, none;
  if (service_on_cpu) {
    none.present = false;
    service_backend = &cores;
    if (own == nullptr) own = &none;
  } else {
    service_backend = own;
  }
  register_keeper();
  if (own == nullptr) return;
  static ClientBackend backend(*own, service_path());
  session_backend = &backend;
  set_gpu_backend(own, &backend);
}

extern "C" {

PGDLLEXPORT void simjoin_gpu_service_main(Datum);
void simjoin_gpu_service_main(Datum) {
  pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
  BackgroundWorkerUnblockSignals();
  if (service_backend == nullptr) {
    log_line("this build has no GPU engine");
    while (!ShutdownRequestPending) wait_for_events({-1, -1, 0, "", 0}, -1);
  } else {
    keep_child();
  }
  proc_exit(1);  // with 0 it would not be started again
}

PG_FUNCTION_INFO_V1(simjoin_gpu_service);
Datum simjoin_gpu_service(PG_FUNCTION_ARGS) {
  ResultRows result(fcinfo);
  ServiceStatus status;
  const bool found = session_backend != nullptr && call_cpp([&] {
                       session_backend->look_again();
                       const std::optional<ServiceStatus> now = session_backend->status();
                       if (now) status = *now;
                       return now.has_value();
                     });
  if (!found) return 0;
  constexpr int64 microseconds_to_2000 =
      int64{POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE} * SECS_PER_DAY * USECS_PER_SEC;
  const auto count = [](uint64_t value) { return Int64GetDatum(static_cast<int64>(value)); };
  result.add({Int32GetDatum(status.pid), TimestampTzGetDatum(status.started - microseconds_to_2000),
              Int32GetDatum(static_cast<int32>(status.sessions)),
              Int32GetDatum(static_cast<int32>(status.running)),
              Int32GetDatum(static_cast<int32>(status.waiting)), count(status.memory_used),
              count(status.memory_total), count(status.device_memory), count(status.joins)});
  return 0;
}
}

}  // namespace simjoin::pg
