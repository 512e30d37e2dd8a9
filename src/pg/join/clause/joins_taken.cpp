#include "pg/join/clause/joins_taken.hpp"

#include "pg/base/pg.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/xact.h"
#include "funcapi.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(simjoin_pg_trgm_joins);
PG_FUNCTION_INFO_V1(simjoin_fuzzystrmatch_joins);
}

#include "pg/base/bound_symbol.hpp"
#include "pg/base/settings.hpp"
#include "pg/join/clause/edits.hpp"
#include "pg/join/clause/trigrams.hpp"

namespace simjoin::pg {
namespace {

// When the statement began that loaded this library; long ago if that was at the start of the session.
TimestampTz loaded_at;

// Returns why joins by the extension are not taken, NULL where they are. `can_join` says whether its
// functions in its schema can be used.
const char *why_not_taken(const char *extension, bool (*can_join)(Oid schema)) {
  const Oid schema = extension_schema(extension);
  if (!OidIsValid(schema)) return psprintf("The extension %s is not in this database.", extension);
  if (!can_join(schema))
    return psprintf("A function of %s or simjoin was altered, or the current user may not execute it.",
                    extension);
  if (!Settings::enable_join()) return "simjoin.enable_join is off.";
  if (loaded_at == GetCurrentStatementStartTimestamp())
    return "simjoin was not loaded before this call. Sessions load it first after ALTER DATABASE ... SET "
           "session_preload_libraries = 'simjoin', or LOAD 'simjoin'.";
  return nullptr;
}

Datum taken_row(FunctionCallInfo fcinfo, const char *reason) {
  TupleDesc descriptor;
  if (get_call_result_type(fcinfo, nullptr, &descriptor) != TYPEFUNC_COMPOSITE)
    elog(ERROR, "return type must be a row type");
  Datum values[] = {BoolGetDatum(reason == nullptr),
                    reason == nullptr ? static_cast<Datum>(0) : CStringGetTextDatum(reason)};
  bool nulls[] = {false, reason == nullptr};
  return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls));
}

}  // namespace

void note_load_of_joins() {
  loaded_at = GetCurrentStatementStartTimestamp();
}

}  // namespace simjoin::pg

extern "C" {

// They return whether this session plans joins by an extension with the join operator, and if not, why.
Datum simjoin_pg_trgm_joins(PG_FUNCTION_ARGS) {
  PG_RETURN_DATUM(simjoin::pg::taken_row(
      fcinfo, simjoin::pg::why_not_taken("pg_trgm", simjoin::pg::can_join_by_trigrams)));
}

Datum simjoin_fuzzystrmatch_joins(PG_FUNCTION_ARGS) {
  PG_RETURN_DATUM(simjoin::pg::taken_row(
      fcinfo, simjoin::pg::why_not_taken("fuzzystrmatch", simjoin::pg::can_join_by_levenshtein)));
}
}
