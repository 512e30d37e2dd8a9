// Queries over the parts of a dedup view and over its query, for many ids at a time.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
}

#include <algorithm>
#include <span>
#include <type_traits>

#include "pg/dedup/stored_rows.hpp"
#include "pg/query/query_source.hpp"
#include "pg/sets/arrays.hpp"

namespace simjoin::pg {

// A list of ids, in any order.
using IdList = std::span<const int64>;

// Returns a parameter, $1, that is an array of the ids.
inline ParamListInfo ids_parameter(IdList ids) {
  const auto array = make_array<int64>(ids.size());
  std::copy(ids.begin(), ids.end(), array.elements);
  ParamListInfo parameters = makeParamList(1);
  parameters->params[0] = {array.datum(), false, PARAM_FLAG_CONST, INT8ARRAYOID};
  return parameters;
}

inline void free_ids_parameter(ParamListInfo parameter) {
  pfree(DatumGetPointer(parameter->params[0].value));
  pfree(parameter);
}

// The most ids that a statement looks for, and the most where it fetches their keys into an array.
inline constexpr size_t ids_at_once = 1 << 16;
inline constexpr size_t keys_at_once = 1 << 10;

// Calls body(parameters) for one part of the ids after the other.
template <class Body>
void for_parts(IdList ids, Body &&body, size_t most = ids_at_once) {
  for (size_t begin = 0; begin < ids.size(); begin += most) {
    ParamListInfo parameter = ids_parameter(ids.subspan(begin, std::min(most, ids.size() - begin)));
    body(parameter);
    free_ids_parameter(parameter);
  }
}

// Hands the rows of a query over a part to take(row).
template <class Take>
struct PartReader {
  void start(TupleDesc) {}  // stored_rows checks the types
  void take(const QueryRow &row) { (*take_row)(StoredRow{row.slot, part}); }

  const char *part;
  Take *take_row;
};

// Runs the query over a part, whose name is given for messages, and calls take(row) for each StoredRow.
template <class Take>
void run_over_part(const char *query, const char *part, const char *function, Take &&take,
                   ParamListInfo parameters = nullptr) {
  PartReader<std::remove_reference_t<Take>> reader = {part, &take};
  read_query(query, &reader, function, parameters);
}

// Runs the query as run_over_part does, for one part of the ids after the other. They are its parameter $1.
template <class Take>
void run_for_ids(const char *query, const char *part, IdList ids, const char *function, Take &&take,
                 size_t most = ids_at_once) {
  for_parts(
      ids, [&](ParamListInfo parameters) { run_over_part(query, part, function, take, parameters); }, most);
}

}  // namespace simjoin::pg
