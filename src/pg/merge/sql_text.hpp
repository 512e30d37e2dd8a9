// The text of statements, and statements of a merge.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
}

namespace simjoin::pg {

// Returns part(0), part(1) and so on up to `count`, with the separator between them.
template <class Part>
const char *joined(int count, const char *separator, Part &&part) {
  StringInfoData text;
  initStringInfo(&text);
  for (int i = 0; i < count; ++i) {
    if (i > 0) appendStringInfoString(&text, separator);
    appendStringInfoString(&text, part(i));
  }
  return text.data;
}

// The values of a statement's parameters $1 and $2.
struct Parameters {
  int count = 0;
  Oid types[2] = {};
  Datum values[2] = {};
  bool nulls[2] = {};

  Parameters with(Oid type, Datum value, bool isnull = false) const;
};

// The result of a statement: texts, or nullptr for NULL. They are the caller's. Numbers must not be NULL.
struct TextRows {
  int rows = 0;
  const char ***values = nullptr;

  const char *at(int row, int column) const { return values[row][column]; }
  Oid oid_at(int row, int column) const;
  int64 number_at(int row, int column) const;
};

// With which search path a statement runs. Names in a statement of ours are qualified. Texts of the caller,
// and triggers of tables that are written to, need the caller's path. Expressions that the catalogs print
// need a path that begins with pg_catalog.
enum class Path : uint8_t { fixed, callers };

// The statements of a call. One that changes nothing reads with the snapshot of its query, and others with a
// new one for each statement, so that they see what was committed while they waited for locks.
struct Statements {
  const char *function;
  bool read_only;

  // Runs a statement. Returns the number of rows that it wrote or returned.
  uint64 run(const char *statement, const Parameters &parameters = {}, Path path = Path::fixed) const;

  // Runs a query.
  TextRows read(const char *query, const Parameters &parameters = {}, Path path = Path::fixed) const;

  // Runs a query of catalogs. Like PostgreSQL's own descriptions of tables it sees what is committed by now,
  // also in a transaction whose snapshot is older.
  TextRows read_catalog(const char *query) const;

  // Runs a query that returns one row of `columns` columns. Gives copies of their values.
  void read_values(const char *query, int columns, Datum *values, bool *nulls, Oid *types,
                   const Parameters &parameters, Path path) const;

  // Runs a query and calls take(value, isnull) for the first column of each row.
  template <class Take>
  void read_each(const char *query, const Parameters &parameters, Path path, Take take) const {
    each(query, parameters, path, &take,
         [](void *to, Datum value, bool isnull) { (*static_cast<Take *>(to))(value, isnull); });
  }

 private:
  void each(const char *query, const Parameters &parameters, Path path, void *to,
            void (*take)(void *to, Datum value, bool isnull)) const;
};

// Returns an expression for an array of these texts.
const char *text_array(int count, const char *const *texts);

// Returns the parse trees of a text that the caller has given in place of a query.
List *parse_given(const char *text);

// Calls body(). An error of this kind, or category of kinds, that it raises gets the hint.
template <class Body>
void with_hint(int sqlstate, const char *hint, Body &&body) {
  struct Hint {
    int sqlstate;
    const char *text;
  } given = {sqlstate, hint};
  ErrorContextCallback callback = {
      error_context_stack,
      [](void *to) {
        const auto *its = static_cast<const Hint *>(to);
        const int code = geterrcode();
        if (code == its->sqlstate ||
            (ERRCODE_IS_CATEGORY(its->sqlstate) && ERRCODE_TO_CATEGORY(code) == its->sqlstate))
          errhint("%s", its->text);
      },
      &given};
  error_context_stack = &callback;
  body();
  error_context_stack = callback.previous;
}

}  // namespace simjoin::pg
