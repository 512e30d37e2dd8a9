#include "pg/guard/upsert.hpp"

extern "C" {
#include "access/genam.h"
#include "catalog/index.h"
#include "catalog/partition.h"
#include "catalog/pg_attribute.h"
#include "executor/executor.h"
#include "rewrite/rewriteHandler.h"
#include "utils/rel.h"
}

#include "pg/base/compat_statements.hpp"

namespace simjoin::pg {
namespace {

// The key of a row in an index.
struct IndexKey {
  bool has;  // whether the index has the row
  Datum values[INDEX_MAX_KEYS];
  bool nulls[INDEX_MAX_KEYS];
};

IndexKey key_of(IndexInfo *info, TupleTableSlot *row, EState *state) {
  IndexKey key = {};
  ExprContext *context = GetPerTupleExprContext(state);
  context->ecxt_scantuple = row;
  key.has = ExecQual(ExecPrepareQual(info->ii_Predicate, state), context);
  if (key.has) FormIndexDatum(info, row, state, key.values, key.nulls);
  return key;
}

bool same_key(Relation index, TupleTableSlot *a, TupleTableSlot *b, EState *state) {
  IndexInfo *info = BuildIndexInfo(index);
  BuildSpeculativeIndexInfo(index, info);
  const IndexKey left = key_of(info, a, state), right = key_of(info, b, state);
  if (!left.has || !right.has) return false;
  for (int i = 0; i < info->ii_NumIndexKeyAttrs; ++i) {
    if (left.nulls[i] && right.nulls[i] && compat::nulls_are_equal(info)) continue;
    if (left.nulls[i] || right.nulls[i] ||
        !DatumGetBool(OidFunctionCall2Coll(info->ii_UniqueProcs[i], index->rd_indcollation[i], left.values[i],
                                           right.values[i])))
      return false;
  }
  return true;
}

// Returns the row with the values of its generated columns, which it gets when it is stored.
TupleTableSlot *completed(Relation table, TupleTableSlot *row, EState *state) {
  TupleDesc descriptor = RelationGetDescr(table);
  if (descriptor->constr == nullptr || !descriptor->constr->has_generated_stored) return row;
  // The copy of the descriptor has no references to give back.
  TupleTableSlot *whole = MakeSingleTupleTableSlot(CreateTupleDescCopy(descriptor), &TTSOpsVirtual);
  ExecCopySlot(whole, row);
  ExprContext *context = GetPerTupleExprContext(state);
  context->ecxt_scantuple = row;
  for (int i = 0; i < descriptor->natts; ++i) {
    if (TupleDescAttr(descriptor, i)->attgenerated != ATTRIBUTE_GENERATED_STORED) continue;
    auto *expression = reinterpret_cast<Expr *>(build_column_default(table, i + 1));
    whole->tts_values[i] = ExecEvalExpr(ExecPrepareExpr(expression, state), context, &whole->tts_isnull[i]);
  }
  return whole;
}

// Returns the indexes of the table that decide.
List *deciding_indexes(Relation table, const List *arbiters) {
  List *deciding = NIL;
  List *indexes = RelationGetIndexList(table);
  const ListCell *cell;
  foreach (cell, indexes) {
    const Oid index = lfirst_oid(cell);
    bool decides = list_member_oid(arbiters, index);
    const ListCell *ancestor;
    foreach (ancestor, get_partition_ancestors(index))
      decides = decides || list_member_oid(arbiters, lfirst_oid(ancestor));
    if (decides) deciding = lappend_oid(deciding, index);
  }
  list_free(indexes);
  return deciding;
}

void prepare(Upsert *upsert) {
  upsert->state = CreateExecutorState();
  upsert->whole = completed(upsert->table, upsert->row, upsert->state);
  upsert->indexes = deciding_indexes(upsert->table, upsert->arbiters);
}

}  // namespace

bool has_key_of(Upsert *upsert, Relation table, TupleTableSlot *version) {
  // A partition holds all rows of a key.
  if (RelationGetRelid(table) != RelationGetRelid(upsert->table)) return false;
  if (upsert->state == nullptr) prepare(upsert);
  bool same = false;
  const ListCell *cell;
  foreach (cell, upsert->indexes) {
    Relation index = index_open(lfirst_oid(cell), AccessShareLock);
    same = same || same_key(index, upsert->whole, version, upsert->state);
    index_close(index, NoLock);
  }
  return same;
}

}  // namespace simjoin::pg
