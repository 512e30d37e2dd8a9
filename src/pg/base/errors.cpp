#include "pg/base/errors.hpp"

#include <cstdio>
#include <new>
#include <stdexcept>

#include "core/base/error.hpp"
#include "core/base/worker_pool.hpp"
#include "pg/base/interrupts.hpp"

namespace simjoin::pg {
namespace {

int sqlstate_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_argument:
      return ERRCODE_INVALID_PARAMETER_VALUE;
    case ErrorKind::limit_exceeded:
    case ErrorKind::memory_limit_exceeded:
    case ErrorKind::file_limit_exceeded:
      return ERRCODE_CONFIGURATION_LIMIT_EXCEEDED;
    case ErrorKind::disk_full:
      return ERRCODE_DISK_FULL;
    case ErrorKind::io_failure:
      return ERRCODE_IO_ERROR;
    case ErrorKind::device_unavailable:
    case ErrorKind::device_failure:
      return ERRCODE_SYSTEM_ERROR;
    case ErrorKind::no_threads:
      return ERRCODE_INSUFFICIENT_RESOURCES;
    case ErrorKind::internal:
      break;
  }
  return ERRCODE_INTERNAL_ERROR;
}

// Returns the hint for errors of a kind in PostgreSQL, "" where the kind alone does not tell what helps.
const char *hint_for(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::file_limit_exceeded:
      return "Raise temp_file_limit or simjoin.memory_limit, or join fewer rows at a time.";
    case ErrorKind::disk_full:
      return "Free space, point temp_tablespaces elsewhere, or raise simjoin.memory_limit.";
    case ErrorKind::no_threads:
      return "Lower simjoin.cpu_threads in all sessions, or raise the limit on the processes of the server's "
             "user.";
    default:
      return "";
  }
}

void fill(ErrorReport *report, int sqlstate, const char *message, const char *hint) noexcept {
  report->interrupted = false;
  report->sqlstate = sqlstate;
  std::snprintf(report->message, sizeof report->message, "%s", message);
  std::snprintf(report->hint, sizeof report->hint, "%s", hint);
}

}  // namespace

void describe_current_exception(ErrorReport *report) noexcept {
  try {
    throw;
  } catch (const Error &error) {
    const char *hint = error.hint().empty() ? hint_for(error.kind()) : error.hint().c_str();
    fill(report, sqlstate_of(error.kind()), error.what(), hint);
  } catch (const Cancelled &) {
    fill(report, ERRCODE_QUERY_CANCELED, "the computation was given up", "");
    report->interrupted = true;
  } catch (const std::bad_alloc &) {
    fill(report, ERRCODE_OUT_OF_MEMORY, "out of memory",
         "Lower simjoin.memory_limit, or join fewer rows at a time.");
  } catch (const std::length_error &) {
    fill(report, ERRCODE_PROGRAM_LIMIT_EXCEEDED, "too much data for one similarity join",
         "Join fewer rows at a time.");
  } catch (const std::exception &error) {
    fill(report, ERRCODE_INTERNAL_ERROR, error.what(), "");
  } catch (...) {
    fill(report, ERRCODE_INTERNAL_ERROR, "unknown C++ exception", "");
  }
}

void raise(const ErrorReport &report) {
  if (report.interrupted) check_interrupts();
  ereport(ERROR, (errcode(report.sqlstate), errmsg_internal("%s", report.message),
                  report.hint[0] != '\0' ? errhint("%s", report.hint) : 0));
  pg_unreachable();
}

}  // namespace simjoin::pg
