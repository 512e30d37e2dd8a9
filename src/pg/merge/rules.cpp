#include "pg/merge/rules.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "nodes/parsenodes.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
}

#include <algorithm>
#include <string_view>

namespace simjoin::pg {
namespace {

constexpr const char *rules_hint =
    "A rule is newest, longest, most_frequent, first_not_null, max, min, or an aggregate expression over the "
    "rows of a group, as in 'string_agg(note, \'\', \'\')'.";

// Errors unless the text is one expression, and more than a name: columns of a group have no single value.
void check_expression(const Statements &on, const TableColumn &column, const char *text) {
  List *statements = NIL;
  with_hint(ERRCODE_SYNTAX_ERROR, rules_hint,
            [&] { statements = parse_given(psprintf("SELECT (%s\n)", text)); });
  const RawStmt *statement = list_length(statements) == 1 ? linitial_node(RawStmt, statements) : nullptr;
  const auto *select = statement != nullptr && IsA(statement->stmt, SelectStmt)
                           ? reinterpret_cast<const SelectStmt *>(statement->stmt)
                           : nullptr;
  if (select == nullptr || select->op != SETOP_NONE || list_length(select->targetList) != 1 ||
      select->fromClause != NIL || select->whereClause != nullptr || select->groupClause != NIL ||
      select->havingClause != nullptr || select->sortClause != NIL || select->limitCount != nullptr ||
      select->intoClause != nullptr)
    ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
                    errmsg("%s: the rule for the column %s is not an expression: %s", on.function,
                           column.name, text),
                    errhint("%s", rules_hint)));
  if (IsA(linitial_node(ResTarget, select->targetList)->val, ColumnRef))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s: unknown rule \"%s\" for the column %s", on.function, text, column.name),
                    errhint("%s", rules_hint)));
}

// Returns why the column cannot have a rule, or nullptr.
const char *obstacle_to_rule(int column, const TableShape &table, const References &references) {
  if (table.is_key(column)) return "it is part of the key";
  if (table.columns[column].generated) return "it is generated";
  if (table.columns[column].identity) return "it is GENERATED ALWAYS AS IDENTITY";
  for (int t = 0; t < references.count; ++t) {
    const ReferencingTable &referencing = references.tables[t];
    if (referencing.self && referencing.redirects(column))
      return "it references the table itself, so that it is redirected";
    for (int k = 0; k < referencing.key_count; ++k)
      for (int i = 0; i < referencing.keys[k].column_count; ++i)
        if (referencing.keys[k].to[i] == column) return "foreign keys reference it";
  }
  return nullptr;
}

bool is_plain(std::string_view rule) {
  constexpr std::string_view names[] = {"newest", "longest", "most_frequent", "first_not_null", "max", "min"};
  return std::find(std::begin(names), std::end(names), rule) != std::end(names);
}

int column_named(const Statements &on, const char *name, const char *what, const TableShape &table) {
  const int column = table.find(name);
  if (column < 0)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
                    errmsg("%s: the table %s has no column \"%s\"", on.function, table.name, name),
                    errhint("%s", what)));
  return column;
}

void add_rule(const Statements &on, const char *name, const char *text, const TableShape &table,
              const References &references, Rules *rules) {
  const int column = column_named(on, name,
                                  "Rules are an object with the names of columns as keys, as in "
                                  "'{\"name\": \"longest\"}'.",
                                  table);
  if (text == nullptr)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("%s: the rule for the column %s is not a text", on.function, table.columns[column].name),
             errhint("A column without a rule keeps the value of the survivor.")));
  const char *obstacle = obstacle_to_rule(column, table, references);
  if (obstacle != nullptr)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s: the column %s cannot have a rule: %s", on.function,
                           table.columns[column].name, obstacle),
                    errhint("Leave it out: it keeps the value of the survivor.")));
  if (std::string_view(text) == "newest" && rules->newest_by < 0)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s: the rule newest needs an order", on.function),
                    errhint("Name a column by which rows are newer: newest_by => 'updated_at'.")));
  if (!is_plain(text)) check_expression(on, table.columns[column], text);
  rules->rules[rules->count++] = {column, text};
}

// Returns an aggregate for the column's value in the first row by `order`; then the survivor is first, and
// then the smallest key. An array would become part of a larger one, so its row is aggregated.
const char *first_by(const char *order, const char *filter, const TableColumn &column,
                     const TableShape &table) {
  const char *rest =
      psprintf("%s(%s OPERATOR(pg_catalog.=) 'before') DESC, %s", order, table.journal.action,
               joined(table.key_count, ", ", [&](int i) { return table.columns[table.key[i]].name; }));
  if (column.array)
    return psprintf("((pg_catalog.array_agg(CAST(ROW(%s) AS %s) ORDER BY %s)%s)[1]).%s",
                    table.all(table.plain_name), table.name, rest, filter, column.name);
  return psprintf("(pg_catalog.array_agg(%s ORDER BY %s)%s)[1]", column.name, rest, filter);
}

const char *merged_value(const Rules &rules, int number, const TableShape &table) {
  const TableColumn &column = table.columns[rules.rules[number].column];
  const std::string_view rule = rules.rules[number].text;
  const char *name = column.name;
  const char *not_null = psprintf(" FILTER (WHERE pg_catalog.num_nulls(%s) OPERATOR(pg_catalog.=) 0)", name);
  if (rule == "newest")
    return first_by(psprintf("%s DESC NULLS LAST, ", table.columns[rules.newest_by].name), "", column, table);
  if (rule == "longest")
    return first_by(psprintf("pg_catalog.length(pg_catalog.format('%%s', %s)) DESC, ", name), not_null,
                    column, table);
  if (rule == "most_frequent")
    return first_by(psprintf("%scount%d DESC, ", table.journal.prefix, number), not_null, column, table);
  if (rule == "first_not_null") return first_by("", not_null, column, table);
  if (rule == "max") return first_by(psprintf("%s DESC, ", name), not_null, column, table);
  if (rule == "min") return first_by(psprintf("%s, ", name), not_null, column, table);
  // COALESCE refuses functions that return several rows: a group has one value.
  return psprintf("COALESCE((%s\n))", rules.rules[number].text);
}

// Errors unless the rule's expression has a value for a group that its column takes. The statements of a
// merge, which have it among much else, would say so less clearly.
void check_value(const Statements &on, const Rules &rules, int number, const TableShape &table) {
  const TableColumn &column = table.columns[rules.rules[number].column];
  const char *columns = joined(table.column_count, ", ", [&](int i) {
    return psprintf("%s AS %s", table.base_value(i, "t"), table.columns[i].name);
  });
  Datum value;
  bool isnull;
  Oid type;
  with_hint(ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION, rules_hint, [&] {
    on.read_values(psprintf("SELECT %s FROM (SELECT %s FROM %s t) AS %s GROUP BY () LIMIT 0",
                            merged_value(rules, number, table), columns, table.only(), table.plain_name),
                   1, &value, &isnull, &type, {}, Path::callers);
  });
  if (can_coerce_type(1, &type, &column.type, COERCION_ASSIGNMENT)) return;
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                  errmsg("%s: the rule for the column %s, of type %s, has a value of type %s", on.function,
                         column.name, format_type_be(column.type), format_type_be(type)),
                  errhint("Cast the value: CAST(%s AS %s).", rules.rules[number].text,
                          format_type_be(column.type))));
}

}  // namespace

Rules read_rules(const Statements &on, Datum json, const char *newest_by, const TableShape &table,
                 const References &references) {
  const Parameters parameters = Parameters().with(JSONBOID, json);
  if (on.read("SELECT FROM pg_catalog.jsonb_typeof($1) t WHERE t OPERATOR(pg_catalog.<>) 'object'",
              parameters)
          .rows > 0)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s: the rules are no object", on.function),
             errhint("Rules are an object with a text for each column, as in '{\"name\": \"longest\"}'.")));
  const TextRows rows = on.read(
      "SELECT e.key, CASE WHEN pg_catalog.jsonb_typeof(e.value) OPERATOR(pg_catalog.=) 'string' THEN e.value "
      "OPERATOR(pg_catalog.#>>) '{}' END FROM pg_catalog.jsonb_each($1) e",
      parameters);
  Rules rules = {0, static_cast<Rule *>(palloc0(sizeof(Rule) * (rows.rows + 1))), -1};
  if (newest_by != nullptr)
    rules.newest_by = column_named(on, newest_by, "Name a column of the table as newest_by.", table);
  for (int i = 0; i < rows.rows; ++i) add_rule(on, rows.at(i, 0), rows.at(i, 1), table, references, &rules);
  for (int i = 0; i < rules.count; ++i)
    if (!is_plain(rules.rules[i].text)) check_value(on, rules, i, table);
  return rules;
}

const char *merged_values(const Rules &rules, const TableShape &table, const char *rows) {
  const JournalColumns &marks = table.journal;
  const char *counts = joined(rules.count, "", [&](int i) {
    if (std::string_view(rules.rules[i].text) != "most_frequent") return "";
    return static_cast<const char *>(
        psprintf(", pg_catalog.count(*) OVER (PARTITION BY r.%s, r.%s) AS %scount%d", marks.entry,
                 table.columns[rules.rules[i].column].name, marks.prefix, i));
  });
  const char *values = joined(
      rules.count, "", [&](int i) { return psprintf(", %s AS v%d", merged_value(rules, i, table), i); });
  return psprintf(
      "SELECT %s AS entry%s FROM (SELECT r.*%s FROM %s r WHERE r.%s OPERATOR(pg_catalog.<>) 'after') "
      "AS %s GROUP BY %s",
      marks.entry, values, counts, rows, marks.action, table.plain_name, marks.entry);
}

}  // namespace simjoin::pg
