// Queries over the parts of a dedup view and over its query, for many ids at a time.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/params.h"
}

#include <algorithm>

#include "pg/dedup/stored_rows.hpp"

namespace simjoin::pg {

// Some ids, in any order.
struct IdList {
  const int64 *ids;
  size_t count;
};

// Returns an array of the bigints.
Datum bigint_array(const Datum *values, size_t count);

// Returns a parameter, $1, that is an array of the ids.
ParamListInfo ids_parameter(IdList ids);

void free_ids_parameter(ParamListInfo parameter);

// Ids that a statement looks for.
inline constexpr size_t ids_at_once = 1 << 16;

// Calls body(parameters) with some of the ids at a time.
template <class Body>
void for_parts(IdList ids, Body &&body) {
  for (size_t begin = 0; begin < ids.count; begin += ids_at_once) {
    ParamListInfo parameter = ids_parameter({ids.ids + begin, std::min(ids_at_once, ids.count - begin)});
    body(parameter);
    free_ids_parameter(parameter);
  }
}

// What takes the rows of a query over a part, whose name is given for messages.
struct PartQuery {
  const char *query;
  const char *part;
  void (*receive)(void *context, const StoredRow &row);
  void *context;
};

// Runs the query, which may have parameters.
void run_over_part(const PartQuery &query, const char *function, ParamListInfo parameters = nullptr);

// Runs the query for some ids, which are its parameter $1, a part of them at a time.
void run_for_ids(const PartQuery &query, IdList ids, const char *function);

// The same with all ids at once, so that the rows come in the query's order.
void run_for_ids_at_once(const PartQuery &query, IdList ids, const char *function);

// Runs a statement with parameters as the current user.
void execute_statement(const char *statement, int parameters, Oid *types, Datum *values);

}  // namespace simjoin::pg
