#include "pg/join/plan.hpp"

extern "C" {
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "rewrite/rewriteManip.h"
}

#include <iterator>
#include <utility>

#include "pg/base/arguments.hpp"
#include "pg/base/compat.hpp"
#include "pg/join/exec.hpp"
#include "pg/join/parallel_input.hpp"
#include "pg/join/path.hpp"
#include "pg/join/row_identity.hpp"

namespace simjoin::pg {
namespace {

const CustomScanMethods plan_methods = {join_node_name, create_join_state};

// CustomScan.custom_private is a list of three lists. The first has the facts, integers in this order. The
// second has the scan tuple's columns, two integers for each. The third has the partition keys, five OIDs for
// each: column, column, hash function, hash function, collation.
enum class Fact {
  jointype,
  read_once,
  skip_same_row,
  one_way,
  from_settings,
  implied,
  measure,
  distance,
  strict,
  token_type,
  left_set,
  right_set,
  left_weights,
  right_weights,
  smaller,
  exact_is_cheaper,
  count
};

// The scan tuple while it is put together.
struct TupleBuilder {
  PlannerInfo *root;
  const JoinPath *join;
  List *child_tlists[2];  // where the rows are read once, the right one is the left one
  List *entries;          // of custom_scan_tlist
  List *sources;          // two integers an entry: ColumnSource and child column
};

bool mentions(PlannerInfo *root, Node *expr, Index relid) {
  return bms_is_member(static_cast<int>(relid), pull_varnos(root, expr));
}

// Finds the child's output column that holds the expression.
bool locate(const TupleBuilder &builder, Node *expr, JoinColumn *column) {
  const JoinPath *join = builder.join;
  if (join->read_once) {
    // Both relations' columns are in the one child's output, as columns of the left relation.
    const bool right = mentions(builder.root, expr, join->right_relid);
    if (right) {
      expr = static_cast<Node *>(copyObjectImpl(expr));
      ChangeVarNodes(expr, static_cast<int>(join->right_relid), static_cast<int>(join->left_relid), 0);
    }
    *column = {right ? ColumnSource::right : ColumnSource::left, column_of(builder.child_tlists[0], expr)};
    return column->child_column != InvalidAttrNumber;
  }
  for (int side = 0; side < 2; ++side) {
    *column = {side == 0 ? ColumnSource::left : ColumnSource::right,
               column_of(builder.child_tlists[side], expr)};
    if (column->child_column != InvalidAttrNumber) return true;
  }
  return false;
}

void add_entry(TupleBuilder *builder, Node *expr, JoinColumn column) {
  ListCell *cell;
  foreach (cell, builder->entries)
    if (equal(lfirst_node(TargetEntry, cell)->expr, expr)) return;
  const auto resno = static_cast<AttrNumber>(list_length(builder->entries) + 1);
  TargetEntry *entry = makeTargetEntry(static_cast<Expr *>(copyObjectImpl(expr)), resno, nullptr, false);
  builder->entries = lappend(builder->entries, entry);
  builder->sources = lappend_int(builder->sources, static_cast<int>(column.source));
  builder->sources = lappend_int(builder->sources, column.child_column);
}

// Returns whether the value that a child computes for this expression may stand for it above the join. In
// rows without a partner the child's column is NULL, but an expression like coalesce(y.s, '{}') is not.
bool valid_above(JoinType jointype, ColumnSource source, Node *expr) {
  const bool nullable = jointype == JOIN_FULL ||
                        (source == ColumnSource::right && (jointype == JOIN_LEFT || jointype == JOIN_ANTI));
  return !nullable || IsA(expr, Var) || IsA(expr, PlaceHolderVar) || !contain_nonstrict_functions(expr);
}

// Adds what an expression needs: itself where a child computes it, else the columns within it.
void add_expression(TupleBuilder *builder, Node *expr) {
  JoinColumn column;
  if (locate(*builder, expr, &column) && valid_above(builder->join->jointype, column.source, expr)) {
    add_entry(builder, in_join_tuple(builder->root, expr), column);
    return;
  }
  if (IsA(expr, Var)) elog(ERROR, "similarity join: column not found in the output of its inputs");
  Node *inner =
      IsA(expr, PlaceHolderVar) ? reinterpret_cast<Node *>(castNode(PlaceHolderVar, expr)->phexpr) : expr;
  ListCell *cell;
  foreach (cell, pull_var_clause(inner, PVC_INCLUDE_PLACEHOLDERS))
    add_expression(builder, static_cast<Node *>(lfirst(cell)));
}

void add_expressions(TupleBuilder *builder, List *exprs) {
  ListCell *cell;
  foreach (cell, exprs) add_expression(builder, static_cast<Node *>(lfirst(cell)));
}

// Adds the columns of an expression that the children have. A path's target counts as well as its relation's,
// which is the query's once the last join is planned: below a node for conditions without columns the join
// gives those of its path. Row identities of the target are put together above the join.
void add_columns(TupleBuilder *builder, Node *expr) {
  ListCell *cell;
  foreach (cell, pull_var_clause(expr, PVC_INCLUDE_PLACEHOLDERS)) {
    auto *leaf = static_cast<Node *>(lfirst(cell));
    JoinColumn column;
    if (locate(*builder, leaf, &column) && valid_above(builder->join->jointype, column.source, leaf)) {
      add_entry(builder, in_join_tuple(builder->root, leaf), column);
    } else if (IsA(leaf, PlaceHolderVar)) {
      add_columns(builder, reinterpret_cast<Node *>(castNode(PlaceHolderVar, leaf)->phexpr));
    }
  }
}

// Returns the expressions as they read the scan tuple. A column has one entry there, so the join's clauses
// have to name it as the join's output does.
template <class NodeType>
NodeType *reading_tuple(const TupleBuilder &builder, NodeType *exprs) {
  return reinterpret_cast<NodeType *>(compat::nulled_as(reinterpret_cast<Node *>(exprs), builder.entries));
}

// Finds the child's output column that holds a set of the clause or its weights.
void locate_input(const TupleBuilder &builder, Expr *expr, JoinColumn *column) {
  if (!locate(builder, reinterpret_cast<Node *>(expr), column))
    elog(ERROR, "similarity join: set not found in the output of its inputs");
}

// Adds a set of the clause or its weights, if it is not NULL. Returns whether a value that a child computes
// may stand for it above the join.
bool add_input(TupleBuilder *builder, ColumnSource source, Expr *expr) {
  if (expr == nullptr) return true;
  auto *node = reinterpret_cast<Node *>(reading_tuple(*builder, expr));
  add_expression(builder, node);
  return valid_above(builder->join->jointype, source, node);
}

// Adds the measure's value, so that the clause's call on the two sets, either way round where that is the
// same, costs nothing above the join.
void add_similarity(TupleBuilder *builder, Expr *call, Measure measure) {
  const JoinColumn column = {ColumnSource::similarity, InvalidAttrNumber};
  add_entry(builder, reinterpret_cast<Node *>(call), column);
  if (!is_symmetric(measure)) return;
  auto *swapped = static_cast<Expr *>(copyObjectImpl(call));
  List *arguments = call_arguments(swapped);
  const int half = list_length(arguments) / 2;  // 2 where each set has its weights beside it
  for (int i = 0; i < half; ++i)
    std::swap(list_nth_cell(arguments, i)->ptr_value, list_nth_cell(arguments, half + i)->ptr_value);
  add_entry(builder, reinterpret_cast<Node *>(swapped), column);
}

// Splits the join's clauses but for the similarity clause. Some decide whether two rows match, others filter
// the joined rows afterwards. In an inner join that is the same.
void split_clauses(const JoinPath *join, Relids relids, List **join_quals, List **filter_quals) {
  List *others = list_copy(join->restrictlist);
  others = list_delete_ptr(others, join->clause.rinfo);
  if (IS_OUTER_JOIN(join->jointype)) {
    extract_actual_join_clauses(others, relids, join_quals, filter_quals);
  } else {
    *join_quals = extract_actual_clauses(others, false);
    *filter_quals = NIL;
  }
}

List *encode_facts(const JoinPath *join, const JoinColumn sets[2], const JoinColumn weights[2]) {
  int values[static_cast<int>(Fact::count)];
  auto set = [&](Fact fact, auto value) { values[static_cast<int>(fact)] = static_cast<int>(value); };
  set(Fact::jointype, join->jointype);
  set(Fact::read_once, join->read_once);
  set(Fact::skip_same_row, join->skip_same_row);
  set(Fact::one_way, join->one_way);
  set(Fact::from_settings, join->clause.from_settings);
  set(Fact::implied, !list_member_ptr(join->restrictlist, join->clause.rinfo));
  set(Fact::measure, join->clause.measure);
  set(Fact::distance, join->clause.distance);
  set(Fact::strict, join->clause.strict);
  set(Fact::token_type, join->clause.token_type);
  set(Fact::left_set, sets[0].child_column);
  set(Fact::right_set, sets[1].child_column);
  set(Fact::left_weights, weights[0].child_column);
  set(Fact::right_weights, weights[1].child_column);
  set(Fact::smaller, join->smaller);
  set(Fact::exact_is_cheaper, join->exact_is_cheaper);
  List *facts = NIL;
  for (int value : values) facts = lappend_int(facts, value);
  return facts;
}

List *encode_partition_keys(const TupleBuilder &builder) {
  List *encoded = NIL;
  ListCell *cell;
  foreach (cell, builder.join->partition_clauses) {
    const PartitionKey key = partition_key(lfirst_node(RestrictInfo, cell), builder.join->outer);
    JoinColumn left, right;
    if (!locate(builder, reinterpret_cast<Node *>(key.left), &left) ||
        !locate(builder, reinterpret_cast<Node *>(key.right), &right))
      elog(ERROR, "similarity join: partition key not found in the output of its inputs");
    for (Oid value : {static_cast<Oid>(left.child_column), static_cast<Oid>(right.child_column),
                      key.left_hash, key.right_hash, key.collation})
      encoded = lappend_oid(encoded, value);
  }
  return encoded;
}

}  // namespace

void register_join_methods() {
  RegisterCustomScanMethods(&plan_methods);
}

AttrNumber column_of(List *tlist, Node *expr) {
  ListCell *cell;
  Node *plain = compat::without_nulling(expr);
  foreach (cell, tlist) {
    auto *entry = lfirst_node(TargetEntry, cell);
    if (equal(compat::without_nulling(reinterpret_cast<Node *>(entry->expr)), plain)) return entry->resno;
  }
  return InvalidAttrNumber;
}

const char *clause_function(const JoinPlanFacts &facts) {
  if (facts.from_settings) return "sets_similar";
  if (facts.weighted()) return weighted_function(facts.measure);
  return facts.distance ? "jaccard_distance" : measure_function(facts.measure);
}

Plan *plan_join(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *,
                List *custom_plans) {
  auto *join = reinterpret_cast<JoinPath *>(path);
  const SimilarityClause &clause = join->clause;
  List *join_quals, *filter_quals;
  split_clauses(join, rel->relids, &join_quals, &filter_quals);

  TupleBuilder builder = {};
  builder.root = root;
  builder.join = join;
  builder.child_tlists[0] = plan_of_rows(static_cast<Plan *>(linitial(custom_plans)))->targetlist;
  builder.child_tlists[1] = plan_of_rows(static_cast<Plan *>(llast(custom_plans)))->targetlist;
  JoinColumn sets[2], weights[2] = {};
  locate_input(builder, clause.left, &sets[0]);
  locate_input(builder, clause.right, &sets[1]);
  if (clause.weighted()) {
    locate_input(builder, clause.left_weights, &weights[0]);
    locate_input(builder, clause.right_weights, &weights[1]);
  }
  add_expressions(&builder, rel->reltarget->exprs);
  add_columns(&builder, reinterpret_cast<Node *>(path->path.pathtarget->exprs));
  filter_quals = reading_tuple(builder, filter_quals);
  add_expressions(&builder, filter_quals);
  join_quals = reading_tuple(builder, join_quals);
  add_expressions(&builder, join_quals);
  bool known_above = add_input(&builder, ColumnSource::left, clause.left);
  known_above &= add_input(&builder, ColumnSource::right, clause.right);
  known_above &= add_input(&builder, ColumnSource::left, clause.left_weights);
  known_above &= add_input(&builder, ColumnSource::right, clause.right_weights);
  if (clause.call != nullptr && known_above)
    add_similarity(&builder, reading_tuple(builder, clause.call), clause.measure);

  CustomScan *scan = makeNode(CustomScan);
  scan->scan.plan.targetlist = tlist;
  scan->scan.plan.qual = filter_quals;
  scan->scan.scanrelid = 0;
  scan->flags = path->flags;
  scan->custom_plans = custom_plans;
  scan->custom_scan_tlist = builder.entries;
  scan->custom_exprs =
      list_make4(clause.threshold, join_quals, reading_tuple(builder, clause.rinfo->clause),
                 reading_tuple(builder, extract_actual_clauses(join->partition_clauses, false)));
  scan->custom_private =
      list_make3(encode_facts(join, sets, weights), builder.sources, encode_partition_keys(builder));
  scan->methods = &plan_methods;
  return &scan->scan.plan;
}

JoinPlanFacts read_plan(const CustomScan *plan, JoinColumn **columns) {
  auto *facts = static_cast<List *>(linitial(plan->custom_private));
  auto *sources = static_cast<List *>(lsecond(plan->custom_private));
  auto get = [&](Fact fact) { return list_nth_int(facts, static_cast<int>(fact)); };
  const int count = list_length(sources) / 2;
  *columns = static_cast<JoinColumn *>(palloc(sizeof(JoinColumn) * Max(count, 1)));
  for (int i = 0; i < count; ++i)
    (*columns)[i] = {static_cast<ColumnSource>(list_nth_int(sources, 2 * i)),
                     static_cast<AttrNumber>(list_nth_int(sources, 2 * i + 1))};
  return {
      static_cast<JoinType>(get(Fact::jointype)),
      get(Fact::read_once) != 0,
      get(Fact::skip_same_row) != 0,
      get(Fact::one_way) != 0,
      get(Fact::from_settings) != 0,
      get(Fact::implied) != 0,
      static_cast<Measure>(get(Fact::measure)),
      get(Fact::distance) != 0,
      get(Fact::strict) != 0,
      static_cast<TokenType>(get(Fact::token_type)),
      {static_cast<AttrNumber>(get(Fact::left_set)), static_cast<AttrNumber>(get(Fact::right_set))},
      {static_cast<AttrNumber>(get(Fact::left_weights)), static_cast<AttrNumber>(get(Fact::right_weights))},
      static_cast<Side>(get(Fact::smaller)),
      get(Fact::exact_is_cheaper) != 0,
  };
}

JoinKey *read_partition_keys(const CustomScan *plan, int *count) {
  auto *encoded = static_cast<List *>(lthird(plan->custom_private));
  *count = list_length(encoded) / 5;
  auto *keys = static_cast<JoinKey *>(palloc(sizeof(JoinKey) * Max(*count, 1)));
  for (int i = 0; i < *count; ++i) {
    auto get = [&](int field) { return list_nth_oid(encoded, 5 * i + field); };
    keys[i] = {{static_cast<AttrNumber>(get(0)), static_cast<AttrNumber>(get(1))}, {get(2), get(3)}, get(4)};
  }
  return keys;
}

Node *plan_expression(const CustomScan *plan, JoinExpr which) {
  return static_cast<Node *>(list_nth(plan->custom_exprs, static_cast<int>(which)));
}

}  // namespace simjoin::pg
