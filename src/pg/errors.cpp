#include "pg/errors.hpp"

#include <cstdio>
#include <new>
#include <stdexcept>

#include "core/error.hpp"

namespace simjoin::pg {
namespace {

int sqlstate_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_argument:
      return ERRCODE_INVALID_PARAMETER_VALUE;
    case ErrorKind::limit_exceeded:
      return ERRCODE_CONFIGURATION_LIMIT_EXCEEDED;
    case ErrorKind::device_failure:
      return ERRCODE_SYSTEM_ERROR;
    case ErrorKind::internal:
      break;
  }
  return ERRCODE_INTERNAL_ERROR;
}

void fill(ErrorReport *report, int sqlstate, const char *message, const char *hint) noexcept {
  report->sqlstate = sqlstate;
  std::snprintf(report->message, sizeof report->message, "%s", message);
  std::snprintf(report->hint, sizeof report->hint, "%s", hint);
}

}  // namespace

void describe_current_exception(ErrorReport *report) noexcept {
  try {
    throw;
  } catch (const Error &error) {
    fill(report, sqlstate_of(error.kind()), error.what(), error.hint().c_str());
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
  ereport(ERROR, (errcode(report.sqlstate), errmsg_internal("%s", report.message),
                  report.hint[0] != '\0' ? errhint("%s", report.hint) : 0));
  pg_unreachable();
}

}  // namespace simjoin::pg
