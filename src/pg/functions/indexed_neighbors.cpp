#include "pg/functions/indexed_neighbors.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "nodes/parsenodes.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/syscache.h"
}

#include <cmath>

#include "core/measure.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/statements.hpp"
#include "pg/query/query_source.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {
namespace {

// What the engine does with a row beside reading it, in the planner's cpu_operator_cost. A join of one row
// with 200,000 rows of 12 integers takes 1.4 us a row; the planner's unit is some 6 us there.
constexpr double operators_of_row = 40;

// One of the queries of a call. The plan's parts are looked at before it is planned, which may replace them.
struct QuerySide {
  SPIPlanPtr plan;
  const char *text;  // of the statement, without a semicolon
  TokenType token_type;
};

// Returns the cost of the plan and of `operators` for each of its rows, or -1 where there is no plan.
double cost_of(SPIPlanPtr plan, double operators) {
  CachedPlan *cached = SPI_plan_get_cached_plan(plan);
  if (cached == nullptr) return -1;
  const Plan *root = linitial_node(PlannedStmt, cached->stmt_list)->planTree;
  const double cost = root->total_cost + root->plan_rows * operators * cpu_operator_cost;
  ReleaseCachedPlan(cached, nullptr);
  return cost;
}

// Returns whether ids of the column need no more than a cast of an integer to become those of the result.
bool takes_ids(const FormData_pg_attribute *column, const KeyArgument &key) {
  return OidIsValid(key.type) ? column->atttypid == key.type : is_id_type(column->atttypid);
}

// Returns whether equal ids of the column look the same, so that ties leave no choice.
bool has_plain_order(const FormData_pg_attribute *column) {
  const Oid type = getBaseType(column->atttypid);
  return is_id_type(type) || type == UUIDOID ||
         ((type == TEXTOID || type == VARCHAROID) && OidIsValid(column->attcollation) &&
          get_collation_isdeterministic(column->attcollation));
}

bool is_not_null(Oid table, AttrNumber column) {
  HeapTuple tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(table), Int16GetDatum(column));
  if (!HeapTupleIsValid(tuple)) return false;
  const bool result = reinterpret_cast<Form_pg_attribute>(GETSTRUCT(tuple))->attnotnull;
  ReleaseSysCache(tuple);
  return result;
}

// Returns whether to read parts of the query again and again gives the rows, and the errors, of reading it
// once: it reads a table's column of ids, which cannot be NULL, and nothing in it is volatile.
bool can_be_searched(Query *query) {
  if (query->setOperations != nullptr || query->cteList != NIL || query->rowMarks != NIL || query->hasAggs ||
      query->hasWindowFuncs || query->hasTargetSRFs || query->hasSubLinks || query->distinctClause != NIL ||
      query->groupClause != NIL || query->groupingSets != NIL || query->limitCount != nullptr ||
      query->limitOffset != nullptr || list_length(query->jointree->fromlist) != 1)
    return false;
  auto *source = static_cast<Node *>(linitial(query->jointree->fromlist));
  if (!IsA(source, RangeTblRef) || contain_volatile_functions(reinterpret_cast<Node *>(query))) return false;
  const int table = reinterpret_cast<RangeTblRef *>(source)->rtindex;
  const RangeTblEntry *entry = rt_fetch(table, query->rtable);
  auto *id = reinterpret_cast<Var *>(linitial_node(TargetEntry, query->targetList)->expr);
  return entry->rtekind == RTE_RELATION && IsA(id, Var) && static_cast<int>(id->varno) == table &&
         id->varlevelsup == 0 && id->varattno > 0 && is_not_null(entry->relid, id->varattno);
}

// Gives what is known of a query. Returns false where it is not a single SELECT of ids and sets, or, on the
// right side, not one that can be searched.
bool look_at(const char *query, const KeyArgument &key, bool right, QuerySide *side) {
  parse_query(query, [&] { side->plan = prepare_statement(query, 0, nullptr); });
  List *sources = SPI_plan_get_plan_sources(side->plan);
  if (list_length(sources) != 1) return false;
  const auto *source = static_cast<CachedPlanSource *>(linitial(sources));
  const RawStmt *statement = source->raw_parse_tree;
  if (statement == nullptr || !IsA(statement->stmt, SelectStmt) || list_length(source->query_list) != 1)
    return false;
  auto *analyzed = linitial_node(Query, source->query_list);
  TupleDesc columns = source->resultDesc;
  if (analyzed->commandType != CMD_SELECT || columns == nullptr || columns->natts != 2) return false;
  if (!takes_ids(TupleDescAttr(columns, 0), key) ||
      !token_type_of(TupleDescAttr(columns, 1)->atttypid, &side->token_type))
    return false;
  const char *begin = query + Max(statement->stmt_location, 0);
  side->text = statement->stmt_len > 0 ? pnstrdup(begin, static_cast<Size>(statement->stmt_len)) : begin;
  return !right || (can_be_searched(analyzed) && has_plain_order(TupleDescAttr(columns, 0)));
}

const char *set_type(TokenType type) {
  switch (type) {
    case TokenType::int4:
      return "pg_catalog.int4[]";
    case TokenType::int8:
      return "pg_catalog.int8[]";
    case TokenType::text:
      break;
  }
  return "pg_catalog.text[]";
}

// Returns the statement for all neighbors: (a, b, similarity, rank), with NULL for b where a row has none.
const char *neighbors_statement(const JoinCall &call, const QuerySide &left, const QuerySide &right,
                                const NeighborChoice &choice, Oid schema) {
  const bool counts = call.measure.measure == Measure::overlap;
  const char *similarity =
      psprintf("%s.%s(l.s::%s, r.s::%s)", quote_identifier(get_namespace_name(schema)),
               measure_function(call.measure.measure), set_type(left.token_type), set_type(right.token_type));
  StringInfoData sql;
  initStringInfo(&sql);
  appendStringInfo(&sql, "SELECT l.id, n.id, n.similarity::pg_catalog.float8, n.rank FROM (%s\n) l (id, s) ",
                   left.text);
  appendStringInfo(
      &sql,
      "LEFT JOIN LATERAL (SELECT c.id, c.similarity, pg_catalog.row_number() OVER (ORDER BY c.similarity "
      "DESC, c.id) AS rank FROM (SELECT r.id, %s AS similarity FROM (%s\n) r (id, s) ",
      similarity, right.text);
  appendStringInfo(&sql, "WHERE %s OPERATOR(pg_catalog.>=) ", similarity);
  if (counts) {
    appendStringInfo(&sql, "%.0f", std::ceil(choice.least));
  } else {
    appendStringInfo(&sql, "'%.17g'::pg_catalog.float8", choice.least);
  }
  appendStringInfo(&sql, ") c ORDER BY %s FETCH FIRST %u ROWS %s) n ON true",
                   choice.ties ? "c.similarity DESC" : "3", choice.k, choice.ties ? "WITH TIES" : "ONLY");
  return sql.data;
}

// Takes the rows of the statement.
struct NeighborReader {
  void start(TupleDesc columns);
  void take(const QueryRow &row);

  const JoinCall &call;
  ResultRows *result;
};

// Returns an id of a row in the type of the result.
Datum result_id(Datum id, const KeyArgument &key, Oid base_type) {
  return OidIsValid(key.type) ? id : Int64GetDatum(id_of(id, base_type));
}

// A function that the planner evaluates may change a table after its columns were looked at.
void NeighborReader::start(TupleDesc columns) {
  if (takes_ids(TupleDescAttr(columns, 0), call.left_key) &&
      takes_ids(TupleDescAttr(columns, 1), call.right_key) &&
      TupleDescAttr(columns, 2)->atttypid == FLOAT8OID && TupleDescAttr(columns, 3)->atttypid == INT8OID)
    return;
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("%s: a table of the queries was changed meanwhile", call.function)));
}

void NeighborReader::take(const QueryRow &row) {
  const Datum a = row.key(0);
  Datum similarity, rank;
  if (!row.get(2, &similarity) || !row.get(3, &rank)) return;
  const Datum b = row.key(1);
  result->add({result_id(a, call.left_key, row.types[0]), result_id(b, call.right_key, row.types[1]),
               similarity, Int32GetDatum(static_cast<int32>(DatumGetInt64(rank)))});
}

}  // namespace

bool return_indexed_neighbors(const JoinCall &call, const NeighborChoice &choice, Oid schema,
                              ResultRows *result) {
  if (!(choice.least > 0) || call.tokenizer != nullptr) return false;
  QuerySide left, right;
  connect_spi();
  bool indexed = look_at(call.left_query, call.left_key, false, &left) &&
                 look_at(call.right_query, call.right_key, true, &right) &&
                 left.token_type == right.token_type;
  if (indexed) {
    SPIPlanPtr plan = prepare_statement(neighbors_statement(call, left, right, choice, schema), 0, nullptr);
    const double left_cost = cost_of(left.plan, operators_of_row);
    const double right_cost = cost_of(right.plan, operators_of_row), cost = cost_of(plan, 0);
    indexed = left_cost >= 0 && right_cost >= 0 && cost >= 0 && cost < left_cost + right_cost;
    NeighborReader reader = {call, result};
    if (indexed) run_plan(plan, receiver_for(&reader, call.function), nullptr);
  }
  SPI_finish();
  return indexed;
}

}  // namespace simjoin::pg
