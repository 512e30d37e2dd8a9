// simjoin_progress(), simjoin_stat() and simjoin_stat_reset(): what the server's sessions do, and have done.
#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
}

#include "pg/base/result_rows.hpp"
#include "pg/base/shared_progress.hpp"

namespace simjoin::pg {
namespace {

SharedProgress *require_shared_progress() {
  SharedProgress *shared = shared_progress();
  if (shared == nullptr)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("simjoin does not watch the joins of this server"),
                    errhint("Add simjoin to shared_preload_libraries, and restart the server.")));
  return shared;
}

const char *phase_name(JoinPhaseShown phase) {
  return phase == JoinPhaseShown::reading ? "reading" : "joining";
}

// What statistics show of another role's join is who runs it, as in PostgreSQL's own views of progress.
bool may_see(Oid role) {
  return has_privs_of_role(GetUserId(), role) || has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
}

int64 total(pg_atomic_uint64 *count) {
  return static_cast<int64>(pg_atomic_read_u64(count));
}

}  // namespace
}  // namespace simjoin::pg

using namespace simjoin::pg;

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_progress);
Datum simjoin_progress(PG_FUNCTION_ARGS) {
  SharedProgress *shared = require_shared_progress();
  ResultRows result(fcinfo);
  for (ProgressSlot &slot : shared->slots) {
    const JoinProgress join = read_slot(&slot);
    if (join.pid == 0) continue;
    Datum values[10] = {Int32GetDatum(join.pid),
                        ObjectIdGetDatum(join.database),
                        ObjectIdGetDatum(join.role),
                        TimestampTzGetDatum(join.started),
                        CStringGetTextDatum(phase_name(join.phase)),
                        Int64GetDatum(static_cast<int64>(join.rows)),
                        Int64GetDatum(static_cast<int64>(join.pairs)),
                        Int64GetDatum(static_cast<int64>(join.memory_peak)),
                        Int64GetDatum(static_cast<int64>(join.temporary_bytes)),
                        CStringGetTextDatum(join.device)};
    bool nulls[10] = {};
    if (!may_see(join.role))
      for (int column = 3; column < 10; ++column) nulls[column] = true;
    if (join.device[0] == '\0') nulls[9] = true;
    result.add(values, nulls);
  }
  return 0;
}

PG_FUNCTION_INFO_V1(simjoin_stat);
Datum simjoin_stat(PG_FUNCTION_ARGS) {
  JoinTotals *totals = &require_shared_progress()->totals;
  ResultRows result(fcinfo);
  result.add({Int64GetDatum(total(&totals->joins)), Int64GetDatum(total(&totals->rows)),
              Int64GetDatum(total(&totals->pairs)), Int64GetDatum(total(&totals->gpu_joins)),
              Int64GetDatum(total(&totals->gpu_notices)), Int64GetDatum(total(&totals->spilled_joins)),
              Int64GetDatum(total(&totals->temporary_bytes)), TimestampTzGetDatum(total(&totals->reset))});
  return 0;
}

PG_FUNCTION_INFO_V1(simjoin_stat_reset);
Datum simjoin_stat_reset(PG_FUNCTION_ARGS) {
  (void)fcinfo;
  reset_totals(&require_shared_progress()->totals);
  PG_RETURN_VOID();
}
}
