#include "pg/nearest/keys.hpp"

extern "C" {
#include "common/hashfn.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
}

#include <algorithm>
#include <utility>

#include "pg/nearest/order.hpp"

namespace simjoin::pg {
namespace {

constexpr int oids_of_key = 3;

// Adds the condition if it is an equality that can be hashed, between a row and the outer row.
void add_key_expression(PlannerInfo *root, RelOptInfo *rel, RestrictInfo *condition, KeyExpressions *keys) {
  auto *op = reinterpret_cast<OpExpr *>(condition->clause);
  if (!IsA(op, OpExpr) || list_length(op->args) != 2) return;
  auto *of_row = static_cast<Node *>(linitial(op->args)), *of_outer = static_cast<Node *>(lsecond(op->args));
  Oid row_hash, outer_hash;
  if (!op_hashjoinable(op->opno, exprType(of_row)) || !op_strict(op->opno) ||
      !get_op_hash_functions(op->opno, &row_hash, &outer_hash))
    return;
  if (bms_is_empty(pull_varnos(root, of_row))) {
    std::swap(of_row, of_outer);
    std::swap(row_hash, outer_hash);
  }
  if (!bms_equal(pull_varnos(root, of_row), rel->relids) || depends_on_outer(of_row)) return;
  if (!bms_is_empty(pull_varnos(root, of_outer)) || contain_subplans(of_outer)) return;
  keys->of_rows = lappend(keys->of_rows, of_row);
  keys->of_outer = lappend(keys->of_outer, of_outer);
  for (const Oid oid : {row_hash, outer_hash, op->inputcollid})
    keys->functions = lappend_oid(keys->functions, oid);
  keys->conditions = lappend(keys->conditions, condition);
}

}  // namespace

KeyExpressions find_key_expressions(PlannerInfo *root, RelOptInfo *rel, List *conditions) {
  KeyExpressions keys = {};
  ListCell *cell;
  foreach (cell, conditions) add_key_expression(root, rel, lfirst_node(RestrictInfo, cell), &keys);
  return keys;
}

KeySide init_key_side(List *expressions, List *functions, int first, PlanState *parent) {
  const int count = list_length(expressions);
  KeySide side = {count, allocate<ExprState *>(static_cast<size_t>(count)),
                  allocate<FmgrInfo>(static_cast<size_t>(count)), allocate<Oid>(static_cast<size_t>(count))};
  for (int i = 0; i < count; ++i) {
    side.values[i] = ExecInitExpr(static_cast<Expr *>(list_nth(expressions, i)), parent);
    fmgr_info(list_nth_oid(functions, i * oids_of_key + first), &side.hash[i]);
    side.collation[i] = list_nth_oid(functions, i * oids_of_key + oids_of_key - 1);
  }
  return side;
}

bool hash_of_key(const KeySide &side, ExprContext *context, uint64_t *hash) {
  *hash = 0;
  for (int i = 0; i < side.count; ++i) {
    bool isnull;
    const Datum value = ExecEvalExprSwitchContext(side.values[i], context, &isnull);
    if (isnull) return false;
    MemoryContext old = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
    const uint32 of_value = DatumGetUInt32(FunctionCall1Coll(&side.hash[i], side.collation[i], value));
    MemoryContextSwitchTo(old);
    *hash = hash_combine64(*hash, hash_bytes_uint32_extended(of_value, 0));
  }
  return true;
}

KeyedRange rows_of_key(const GrowingArray<KeyedRow> &sorted, uint64_t hash) {
  const KeyedRow *begin = std::lower_bound(sorted.begin(), sorted.end(), KeyedRow{hash, 0});
  const KeyedRow *end =
      std::upper_bound(begin, static_cast<const KeyedRow *>(sorted.end()), KeyedRow{hash, UINT32_MAX});
  return {begin, static_cast<uint32_t>(end - begin)};
}

}  // namespace simjoin::pg
