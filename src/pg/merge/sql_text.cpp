#include "pg/merge/sql_text.hpp"

extern "C" {
#include "executor/spi.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
}

#include <cstdlib>

#include "pg/base/interrupts.hpp"
#include "pg/base/statements.hpp"

namespace simjoin::pg {
namespace {

// Runs a statement within a connection to SPI.
void run_connected(const char *statement, const Parameters &parameters, Path path, bool read_only) {
  Parameters given = parameters;
  char nulls[] = {given.nulls[0] ? 'n' : ' ', given.nulls[1] ? 'n' : ' ', '\0'};
  const int level = NewGUCNestLevel();
  if (path == Path::fixed) set_until_end("search_path", "pg_catalog, pg_temp");
  check_spi(SPI_execute_with_args(statement, given.count, given.types, given.values, nulls, read_only, 0));
  AtEOXact_GUC(true, level);
}

// Returns the rows of a query as texts.
TextRows texts_of(const char *query, const Parameters &parameters, Path path, bool read_only) {
  MemoryContext context = CurrentMemoryContext;
  connect_spi();
  run_connected(query, parameters, path, read_only);
  TextRows result;
  result.rows = static_cast<int>(SPI_processed);
  const int columns = SPI_tuptable->tupdesc->natts;
  result.values =
      static_cast<const char ***>(MemoryContextAllocZero(context, sizeof(char **) * (result.rows + 1)));
  for (int row = 0; row < result.rows; ++row) {
    result.values[row] =
        static_cast<const char **>(MemoryContextAllocZero(context, sizeof(char *) * columns));
    for (int column = 0; column < columns; ++column) {
      const char *value = SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column + 1);
      if (value != nullptr) result.values[row][column] = MemoryContextStrdup(context, value);
    }
  }
  SPI_finish();
  return result;
}

const char *number_text(const char *value) {
  if (value == nullptr) elog(ERROR, "NULL in place of a number");
  return value;
}

}  // namespace

const char *text_array(int count, const char *const *texts) {
  return psprintf("CAST(ARRAY[%s] AS pg_catalog.text[])",
                  joined(count, ", ", [&](int i) { return quote_literal_cstr(texts[i]); }));
}

List *parse_given(const char *text) {
  // Places in the text are none in the statement that calls us.
  ErrorContextCallback callback = {error_context_stack,
                                   [](void *to) {
                                     internalerrposition(geterrposition());
                                     internalerrquery(static_cast<const char *>(to));
                                     errposition(0);
                                   },
                                   const_cast<char *>(text)};
  error_context_stack = &callback;
  List *statements = pg_parse_query(text);
  error_context_stack = callback.previous;
  return statements;
}

Parameters Parameters::with(Oid type, Datum value, bool isnull) const {
  Parameters more = *this;
  more.types[count] = type;
  more.values[count] = value;
  more.nulls[count] = isnull;
  ++more.count;
  return more;
}

Oid TextRows::oid_at(int row, int column) const {
  return static_cast<Oid>(std::strtoul(number_text(at(row, column)), nullptr, 10));
}

int64 TextRows::number_at(int row, int column) const {
  return std::strtoll(number_text(at(row, column)), nullptr, 10);
}

uint64 Statements::run(const char *statement, const Parameters &parameters, Path path) const {
  connect_spi();
  run_connected(statement, parameters, path, read_only);
  const uint64 rows = SPI_processed;
  SPI_finish();
  return rows;
}

TextRows Statements::read(const char *query, const Parameters &parameters, Path path) const {
  return texts_of(query, parameters, path, read_only);
}

TextRows Statements::read_catalog(const char *query) const {
  PushActiveSnapshot(GetLatestSnapshot());
  const TextRows rows = texts_of(query, {}, Path::fixed, true);
  PopActiveSnapshot();
  return rows;
}

void Statements::read_values(const char *query, int columns, Datum *values, bool *nulls, Oid *types,
                             const Parameters &parameters, Path path) const {
  MemoryContext context = CurrentMemoryContext;
  connect_spi();
  run_connected(query, parameters, path, read_only);
  for (int column = 0; column < columns; ++column) {
    types[column] = SPI_gettypeid(SPI_tuptable->tupdesc, column + 1);
    nulls[column] = true;
    if (SPI_processed == 0) continue;
    const Datum value =
        SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column + 1, &nulls[column]);
    if (nulls[column]) continue;
    int16 length;
    bool by_value;
    get_typlenbyval(types[column], &length, &by_value);
    MemoryContext connected = MemoryContextSwitchTo(context);
    values[column] = datumCopy(value, by_value, length);
    MemoryContextSwitchTo(connected);
  }
  SPI_finish();
}

void Statements::each(const char *query, const Parameters &parameters, Path path, void *to,
                      void (*take)(void *to, Datum value, bool isnull)) const {
  connect_spi();
  run_connected(query, parameters, path, read_only);
  for (uint64 row = 0; row < SPI_processed; ++row) {
    check_interrupts();
    bool isnull;
    const Datum value = SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, 1, &isnull);
    take(to, value, isnull);
  }
  SPI_finish();
}

}  // namespace simjoin::pg
