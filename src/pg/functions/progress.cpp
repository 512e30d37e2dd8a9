// simjoin_progress(), simjoin_stat() and simjoin_stat_reset(): what the server's sessions do, and have done.
#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
}

#include <algorithm>

#include "pg/computation/shared_progress.hpp"
#include "pg/query/result_rows.hpp"

namespace simjoin::pg {
namespace {

// The columns of simjoin_progress(), in order, from the first one that may be NULL.
enum ProgressColumn {
  Column_started = 3,
  Column_part_done = 6,
  Column_pairs = 8,
  Column_memory_peak,
  Column_temporary_bytes,
  Column_device,
  column_count
};

SharedProgress *require_shared_progress() {
  SharedProgress *shared = shared_progress();
  if (shared == nullptr)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("simjoin does not watch the computations of this server"),
                    errhint("Add simjoin to shared_preload_libraries, and restart the server.")));
  return shared;
}

const char *phase_name(ProgressPhase phase) {
  switch (phase) {
    case ProgressPhase::reading:
      return "reading";
    case ProgressPhase::joining:
      return "joining";
    case ProgressPhase::computing:
      return "computing";
  }
  return nullptr;
}

// What statistics show of another role's computation is who runs it, as in PostgreSQL's own views of
// progress.
bool may_see(Oid role) {
  return has_privs_of_role(GetUserId(), role) || has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
}

Datum count(uint64_t value) {
  return Int64GetDatum(static_cast<int64>(value));
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_progress);
Datum simjoin_progress(PG_FUNCTION_ARGS) {
  SharedProgress *shared = require_shared_progress();
  ResultRows result(fcinfo);
  for (ProgressSlot &slot : shared->slots) {
    const Progress progress = read_slot(&slot);
    if (progress.pid == 0) continue;
    Datum values[column_count] = {Int32GetDatum(progress.pid),
                                  ObjectIdGetDatum(progress.database),
                                  ObjectIdGetDatum(progress.role),
                                  TimestampTzGetDatum(progress.started),
                                  CStringGetTextDatum(progress.name),
                                  CStringGetTextDatum(phase_name(progress.phase)),
                                  Float8GetDatum(progress.share_done),
                                  Int64GetDatum(static_cast<int64>(progress.rows)),
                                  Int64GetDatum(static_cast<int64>(progress.pairs)),
                                  Int64GetDatum(static_cast<int64>(progress.memory_peak)),
                                  Int64GetDatum(static_cast<int64>(progress.temporary_bytes)),
                                  CStringGetTextDatum(progress.device)};
    bool nulls[column_count] = {};
    nulls[Column_part_done] = progress.share_done < 0;
    nulls[Column_pairs] = progress.pairs == no_pairs;
    nulls[Column_memory_peak] = progress.memory_peak == unknown_bytes;
    nulls[Column_temporary_bytes] = progress.temporary_bytes == unknown_bytes;
    nulls[Column_device] = progress.device[0] == '\0';
    if (!may_see(progress.role)) std::fill(nulls + Column_started, nulls + column_count, true);
    result.add(values, nulls);
  }
  return 0;
}

PG_FUNCTION_INFO_V1(simjoin_stat);
Datum simjoin_stat(PG_FUNCTION_ARGS) {
  require_shared_progress();
  const AllTotals totals = read_totals();
  ResultRows result(fcinfo);
  for (const Totals &entry : totals.entries) {
    if (entry.name[0] == '\0') break;
    const auto of_joins = [&](uint64_t value) {
      return entry.is_join ? ResultValue(count(value)) : ResultValue(nullptr);
    };
    result.add({CStringGetTextDatum(entry.name), count(entry.calls),
                Float8GetDatum(static_cast<double>(entry.microseconds) / 1000), count(entry.rows),
                count(entry.gpu_calls), count(entry.gpu_notices), of_joins(entry.pairs),
                of_joins(entry.spilled_calls), of_joins(entry.temporary_bytes),
                TimestampTzGetDatum(totals.reset)});
  }
  return 0;
}

PG_FUNCTION_INFO_V1(simjoin_stat_reset);
Datum simjoin_stat_reset(PG_FUNCTION_ARGS) {
  (void)fcinfo;
  require_shared_progress();
  reset_totals();
  PG_RETURN_VOID();
}
}

}  // namespace simjoin::pg
