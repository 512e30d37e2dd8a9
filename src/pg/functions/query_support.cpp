// What the planner may know of the functions over queries: how many rows they return.
#include "pg/base/pg.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "nodes/parsenodes.h"
#include "nodes/supportnodes.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
}

#include <algorithm>
#include <string_view>

#include "pg/base/named_arguments.hpp"

namespace simjoin::pg {
namespace {

constexpr double unknown = -1;
// A longer query is not looked at: parsing should not take longer than planning.
constexpr size_t most_query_bytes = 10000;
constexpr double share_of_condition = 0.5;  // what the planner assumes of a condition it knows nothing about

// Returns the rows of a table by its last ANALYZE or VACUUM. Takes no lock and no right: pg_class tells
// everyone.
double rows_of_table(const RangeVar *name) {
  if (name->catalogname != nullptr) return unknown;
  const Oid schema = name->schemaname == nullptr ? InvalidOid : get_namespace_oid(name->schemaname, true);
  if (name->schemaname != nullptr && !OidIsValid(schema)) return unknown;
  const Oid table =
      OidIsValid(schema) ? get_relname_relid(name->relname, schema) : RelnameGetRelid(name->relname);
  HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
  if (!HeapTupleIsValid(tuple)) return unknown;
  const auto *form = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
  const bool stored = form->relkind == RELKIND_RELATION || form->relkind == RELKIND_PARTITIONED_TABLE ||
                      form->relkind == RELKIND_MATVIEW || form->relkind == RELKIND_FOREIGN_TABLE;
  const double rows = stored && form->reltuples >= 0 ? form->reltuples : unknown;
  ReleaseSysCache(tuple);
  return rows;
}

double rows_of_select(const SelectStmt *select);

// Returns the rows of the only item of FROM.
double rows_of_source(Node *source) {
  if (IsA(source, RangeVar)) return rows_of_table(reinterpret_cast<RangeVar *>(source));
  if (!IsA(source, RangeSubselect)) return unknown;
  Node *query = reinterpret_cast<RangeSubselect *>(source)->subquery;
  return IsA(query, SelectStmt) ? rows_of_select(reinterpret_cast<SelectStmt *>(query)) : unknown;
}

double rows_before_limit(const SelectStmt *select) {
  if (select->withClause != nullptr) return unknown;  // its names may hide tables
  if (select->op == SETOP_UNION && select->all) {
    const double left = rows_of_select(select->larg), right = rows_of_select(select->rarg);
    return left < 0 || right < 0 ? unknown : left + right;
  }
  if (select->op != SETOP_NONE || select->distinctClause != NIL || select->groupClause != NIL) return unknown;
  if (select->valuesLists != NIL) return list_length(select->valuesLists);
  if (list_length(select->fromClause) != 1) return unknown;
  const double rows = rows_of_source(static_cast<Node *>(linitial(select->fromClause)));
  return rows >= 0 && select->whereClause != nullptr ? rows * share_of_condition : rows;
}

double rows_of_select(const SelectStmt *select) {
  check_stack_depth();
  const double rows = rows_before_limit(select);
  if (rows < 0 || select->limitCount == nullptr || !IsA(select->limitCount, A_Const)) return rows;
  auto *limit = reinterpret_cast<A_Const *>(select->limitCount);
  return IsA(&limit->val, Integer) ? std::min<double>(rows, intVal(&limit->val)) : rows;
}

// Returns the parse tree of a query, or NIL where it has none. Parsing looks at no catalog and takes no
// locks, so there is nothing to roll back after an error, and the execution will report it.
List *parse(const char *query) {
  MemoryContext context = CurrentMemoryContext;
  List *volatile trees = NIL;
  PG_TRY();
  { trees = raw_parser(query, RAW_PARSE_DEFAULT); }
  PG_CATCH();
  {
    if (geterrcode() != ERRCODE_SYNTAX_ERROR) PG_RE_THROW();
    MemoryContextSwitchTo(context);
    FlushErrorState();
  }
  PG_END_TRY();
  return trees;
}

// Returns the rows of a query, where it is a simple one over an analyzed table.
double rows_of_query(const char *query) {
  if (strlen(query) > most_query_bytes) return unknown;
  List *trees = parse(query);
  if (list_length(trees) != 1) return unknown;
  Node *statement = static_cast<RawStmt *>(linitial(trees))->stmt;
  return IsA(statement, SelectStmt) ? rows_of_select(reinterpret_cast<SelectStmt *>(statement)) : unknown;
}

// A call and the names of its function's parameters.
struct Call {
  const char *function;
  List *arguments;
  ParameterNames names;
};

// Returns the argument of this name if it is a constant, else nullptr. Parameters of a plan of their own are.
Const *known_argument(const Call &call, std::string_view name) {
  const int number = call.names.find(name);
  if (number < 0) return nullptr;
  auto *argument = static_cast<Node *>(list_nth(call.arguments, number));
  const bool known = IsA(argument, Const) && !reinterpret_cast<Const *>(argument)->constisnull;
  return known ? reinterpret_cast<Const *>(argument) : nullptr;
}

double rows_of_argument(const Call &call, const char *name) {
  const Const *query = known_argument(call, name);
  return query == nullptr || query->consttype != TEXTOID
             ? unknown
             : rows_of_query(TextDatumGetCString(query->constvalue));
}

// Returns the rows of the first of these queries that is known.
double rows_of_first(const Call &call, std::initializer_list<const char *> names) {
  for (const char *name : names) {
    const double rows = rows_of_argument(call, name);
    if (rows >= 0) return rows;
  }
  return unknown;
}

// Returns the rows of the result. Most functions return one row for each row of their query. Of joins it is
// assumed that a row has one partner, and of a graph that it has as many nodes as edges.
double rows_of_call(const Call &call) {
  if (strcmp(call.function, "densest_subgraph_density") == 0) return 1;
  const Const *k = known_argument(call, "k");
  const double most = k == nullptr || k->consttype != INT4OID ? unknown : DatumGetInt32(k->constvalue);
  if (strcmp(call.function, "densest_subgraph") == 0) return most;
  const double rows = rows_of_first(call, {"query", "left_query", "nodes", "edges", "pairs"});
  return rows >= 0 && strcmp(call.function, "similarity_neighbors") == 0 ? (most < 0 ? unknown : rows * most)
                                                                         : rows;
}

// Calls body(call) with the call of the expression, where it is one of a function with named parameters.
template <class Body>
void with_call(Node *expression, Body &&body) {
  if (expression == nullptr || !IsA(expression, FuncExpr)) return;
  auto *function = reinterpret_cast<FuncExpr *>(expression);
  const char *name = get_func_name(function->funcid);
  if (name != nullptr)
    body(Call{name, function->args, parameter_names(function->funcid, list_length(function->args))});
}

// Errors where a call gives NULL as a measure or method at the place of a key. It was meant as the key of a
// function for keys: PostgreSQL takes a key of a type like text, given by its place, for that text.
void check_no_misplaced_key(const Call &call) {
  const bool two_keys = strcmp(call.function, "similarity_match") == 0;
  const int place = two_keys ? 3 : 2;
  if (call.names.count <= place) return;
  const std::string_view name = call.names.names[place];
  if (name != "measure" && name != "method") return;
  auto *argument = static_cast<Node *>(list_nth(call.arguments, place));
  while (IsA(argument, RelabelType) || IsA(argument, CoerceToDomain))
    argument = IsA(argument, RelabelType)
                   ? reinterpret_cast<Node *>(reinterpret_cast<RelabelType *>(argument)->arg)
                   : reinterpret_cast<Node *>(reinterpret_cast<CoerceToDomain *>(argument)->arg);
  if (!IsA(argument, Const) || !reinterpret_cast<Const *>(argument)->constisnull) return;
  ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                  errmsg("%s: %s is NULL", call.function, call.names.names[place]),
                  errhint("Give the type of ids that are texts by name, as in %s => NULL::text.",
                          two_keys ? "left_key => NULL::text, right_key" : "key")));
}

}  // namespace

extern "C" {

// The support function of the functions over queries. It cannot be called from SQL.
PG_FUNCTION_INFO_V1(simjoin_query_support);
Datum simjoin_query_support(PG_FUNCTION_ARGS) {
  auto *node = reinterpret_cast<Node *>(PG_GETARG_POINTER(0));
  if (IsA(node, SupportRequestSimplify)) {
    auto *request = reinterpret_cast<SupportRequestSimplify *>(node);
    with_call(reinterpret_cast<Node *>(request->fcall), check_no_misplaced_key);
  }
  if (!IsA(node, SupportRequestRows)) PG_RETURN_POINTER(nullptr);
  auto *request = reinterpret_cast<SupportRequestRows *>(node);
  double rows = unknown;
  with_call(request->node, [&](const Call &call) { rows = rows_of_call(call); });
  if (rows < 0) PG_RETURN_POINTER(nullptr);
  request->rows = rows;
  PG_RETURN_POINTER(request);
}
}

}  // namespace simjoin::pg
