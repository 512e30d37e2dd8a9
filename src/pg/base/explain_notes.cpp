#include "pg/base/explain_notes.hpp"

extern "C" {
#include "commands/explain.h"
#include "lib/stringinfo.h"
}

#include <cstring>

#include "pg/base/compat.hpp"

namespace simjoin::pg {
namespace {

ExplainOneQuery_hook_type previous_explain_hook = nullptr;

// The lines for the query that is being explained; NULL while none is.
StringInfo notes = nullptr;
bool verbose = false;

void explain_query(Query *query, int cursor_options, IntoClause *into, ExplainState *es, const char *text,
                   ParamListInfo parameters, QueryEnvironment *environment) {
  StringInfo notes_around = notes;  // of a query that is explained around this one
  const bool verbose_around = verbose;
  StringInfoData lines;
  initStringInfo(&lines);
  notes = es->format == EXPLAIN_FORMAT_TEXT ? &lines : nullptr;
  verbose = es->verbose;
  PG_TRY();
  {
    if (previous_explain_hook != nullptr)
      previous_explain_hook(query, cursor_options, into, es, text, parameters, environment);
    else
      compat::explain_query(query, cursor_options, into, es, text, parameters, environment);
  }
  PG_FINALLY();
  {
    notes = notes_around;
    verbose = verbose_around;
  }
  PG_END_TRY();
  appendStringInfoString(es->str, lines.data);
}

}  // namespace

bool explaining() {
  return notes != nullptr;
}

bool explaining_verbosely() {
  return notes != nullptr && verbose;
}

void add_explain_note(const char *line) {
  if (notes != nullptr && std::strstr(notes->data, line) == nullptr) appendStringInfo(notes, "%s\n", line);
}

void install_explain_hook() {
  previous_explain_hook = ExplainOneQuery_hook;
  ExplainOneQuery_hook = explain_query;
}

}  // namespace simjoin::pg
