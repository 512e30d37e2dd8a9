// What the functions that take queries share: running one, and handing its rows to a receiver.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "executor/tuptable.h"
#include "fmgr.h"
#include "nodes/params.h"
#include "tcop/dest.h"
}

namespace simjoin::pg {

// Runs a query that returns rows, with the caller's rights and in the active snapshot. The receiver, whose
// receiveSlot is set, and rStartup where the columns are not known, gets its columns and rows. `parameters`:
// the query's, or nullptr. Errors, naming `function`, where the query writes or returns nothing.
void run_query(const char *query, DestReceiver *receiver, const char *function,
               ParamListInfo parameters = nullptr);

// Errors, naming `function`, where a receiver is started for a second statement. `*started`: whether it was.
void check_single_statement(bool *started, const char *function);

// Returns the columns as in "(id integer, name text)".
const char *describe_columns(TupleDesc columns);

// Returns whether ids can be of this type: smallint, integer, bigint or a domain over one of them.
bool is_id_type(Oid type);

// Returns the value, whose base type is such a type, as a bigint.
int64 id_of(Datum value, Oid base_type);

}  // namespace simjoin::pg
