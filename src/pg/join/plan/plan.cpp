#include "pg/join/plan/plan.hpp"

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

#include "pg/base/compat.hpp"
#include "pg/join/clause/facts.hpp"
#include "pg/join/exec/exec.hpp"
#include "pg/join/plan/path.hpp"
#include "pg/join/plan/row_identity.hpp"
#include "pg/rows/parallel_rows.hpp"

namespace simjoin::pg {
namespace {

const CustomScanMethods plan_methods = {.CustomName = join_node_name,
                                        .CreateCustomScanState = create_join_state};

// The scan tuple while it is put together.
struct TupleBuilder {
  PlannerInfo *root;
  const JoinPath *join;
  List *child_tlists[2];  // where the rows are read once, the right one is the left one
  List *entries;          // of custom_scan_tlist
  List *columns;          // what its entries hold, for encode_join()
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
  builder->columns = append_column(builder->columns, column);
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

// Returns the clauses that could drive the join and do not.
List *other_clauses(const JoinPath *join) {
  List *others = NIL;
  for (int i = 1; i < list_length(join->choice.clauses); ++i)
    others =
        lappend(others, static_cast<SimilarityClause *>(list_nth(join->choice.clauses, i))->rinfo->clause);
  return others;
}

JoinPlanFacts facts_of(const JoinPath *join, const JoinColumn sets[2], const JoinColumn weights[2]) {
  const SimilarityClause &clause = join->clause;
  return {.jointype = join->jointype,
          .read_once = join->read_once,
          .skip_same_row = join->skip_same_row,
          .one_way = join->one_way,
          .from_settings = clause.from_settings,
          .implied = !list_member_ptr(join->restrictlist, clause.rinfo),
          .ranked = clause.ranked,
          .measure = clause.measure,
          .distance = clause.distance,
          .strict = clause.strict,
          .token_type = clause.token_type,
          .set_column = {sets[0].child_column, sets[1].child_column},
          .weights_column = {weights[0].child_column, weights[1].child_column},
          .smaller = join->smaller,
          .exact_is_cheaper = join->exact_is_cheaper};
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
    encoded = append_key(
        encoded, {{left.child_column, right.child_column}, {key.left_hash, key.right_hash}, key.collation});
  }
  return encoded;
}

}  // namespace

void register_join_methods() {
  RegisterCustomScanMethods(&plan_methods);
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
  List *others = reading_tuple(builder, other_clauses(join));
  add_expressions(&builder, others);
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
      list_make5(clause.threshold, join_quals,
                 reading_tuple(builder, clause.ranked ? clause.call : clause.rinfo->clause),
                 reading_tuple(builder, extract_actual_clauses(join->partition_clauses, false)), others);
  scan->custom_private =
      encode_join(facts_of(join, sets, weights), builder.columns, encode_partition_keys(builder),
                  {join->choice.candidates, join->choice.why_not});
  scan->methods = &plan_methods;
  return &scan->scan.plan;
}

}  // namespace simjoin::pg
