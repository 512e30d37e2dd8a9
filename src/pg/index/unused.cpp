#include "pg/index/unused.hpp"

extern "C" {
#include "commands/explain.h"
#include "lib/stringinfo.h"
#include "utils/lsyscache.h"
}

#include <cstring>
#include <string_view>

#include "pg/base/compat.hpp"

namespace simjoin::pg {
namespace {

ExplainOneQuery_hook_type previous_explain_hook = nullptr;

// The lines for the query that is being explained; NULL while none is.
StringInfo notes = nullptr;

void explain_query(Query *query, int cursor_options, IntoClause *into, ExplainState *es, const char *text,
                   ParamListInfo parameters, QueryEnvironment *environment) {
  StringInfoData lines;
  initStringInfo(&lines);
  notes = es->verbose && es->format == EXPLAIN_FORMAT_TEXT ? &lines : nullptr;
  PG_TRY();
  {
    if (previous_explain_hook != nullptr)
      previous_explain_hook(query, cursor_options, into, es, text, parameters, environment);
    else
      compat::explain_query(query, cursor_options, into, es, text, parameters, environment);
  }
  PG_FINALLY();
  { notes = nullptr; }
  PG_END_TRY();
  appendStringInfoString(es->str, lines.data);
}

}  // namespace

void note_unused_index(Oid index, const Bounds &served) {
  if (notes == nullptr) return;
  const char *name = get_rel_name(index);
  const std::string_view measure = measure_names[static_cast<int>(served.measure())];
  char *line = psprintf("Index Not Used: %s serves %.*s from %g on\n", name, static_cast<int>(measure.size()),
                        measure.data(), served.threshold());
  if (std::strstr(notes->data, line) == nullptr) appendStringInfoString(notes, line);
}

void install_explain_hook() {
  previous_explain_hook = ExplainOneQuery_hook;
  ExplainOneQuery_hook = explain_query;
}

}  // namespace simjoin::pg
