// Differences between the supported versions of PostgreSQL, 14 to 18: here, in the other files compat_*.hpp,
// and nowhere else.
#pragma once

#include "pg/base/pg.hpp"

#if PG_VERSION_NUM < 140000 || PG_VERSION_NUM >= 190000
#error "simjoin supports PostgreSQL 14 to 18"
#endif

extern "C" {
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/primnodes.h"
#include "optimizer/paths.h"
#include "portability/instr_time.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"
#include "utils/wait_event.h"
// PostgreSQL 16 split the macros of variable-length types off postgres.h.
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif
// PostgreSQL 18 split explain.h into the state, the properties and the rest.
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
}

namespace simjoin::pg::compat {

// Makes unknown settings that start with this prefix errors. Before PostgreSQL 15, which replaced
// EmitWarningsOnPlaceholders, such settings are warnings.
inline void reserve_setting_prefix(const char *prefix) {
#if PG_VERSION_NUM >= 150000
  MarkGUCPrefixReserved(prefix);
#else
  EmitWarningsOnPlaceholders(prefix);
#endif
}

// Asks for shared memory while the server loads its libraries. PostgreSQL 15 has a hook for that.
inline void request_shared_memory(Size size) {
#if PG_VERSION_NUM >= 150000
  static Size requested;
  static shmem_request_hook_type next;
  requested = size;
  next = shmem_request_hook;
  shmem_request_hook = [] {
    if (next != nullptr) next();
    RequestAddinShmemSpace(requested);
  };
#else
  RequestAddinShmemSpace(size);
#endif
}

// Returns the number of the wait event of this name. PostgreSQL 17 lets extensions name events; in earlier
// versions all are called Extension.
inline uint32 extension_wait_event(const char *name) {
#if PG_VERSION_NUM >= 170000
  return WaitEventExtensionNew(name);
#else
  (void)name;
  return PG_WAIT_EXTENSION;
#endif
}

// The flag of a custom path whose node can compute expressions in its output. PostgreSQL 15 added the flag.
// Earlier versions assume that every custom node can.
#if PG_VERSION_NUM >= 150000
inline constexpr uint32 custom_path_projects = CUSTOMPATH_SUPPORT_PROJECTION;
#else
inline constexpr uint32 custom_path_projects = 0;
#endif

// Makes the call return its rows through a tuplestore that honours work_mem. Afterwards setResult and setDesc
// of the call's ReturnSetInfo are set. PostgreSQL 15.1 has the function InitMaterializedSRF for that.
inline void begin_materialized_result(FunctionCallInfo fcinfo) {
#if PG_VERSION_NUM >= 150001
  InitMaterializedSRF(fcinfo, 0);
#else
  auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
  if (result == nullptr || !IsA(result, ReturnSetInfo))
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("set-valued function called in context that cannot accept a set")));
  if (!(result->allowedModes & SFRM_Materialize))
    ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
                    errmsg("materialize mode required, but it is not allowed in this context")));
  MemoryContext old = MemoryContextSwitchTo(result->econtext->ecxt_per_query_memory);
  TupleDesc descriptor;
  if (get_call_result_type(fcinfo, nullptr, &descriptor) != TYPEFUNC_COMPOSITE)
    elog(ERROR, "return type must be a row type");
  const bool random_access = (result->allowedModes & SFRM_Materialize_Random) != 0;
  result->returnMode = SFRM_Materialize;
  result->setResult = tuplestore_begin_heap(random_access, false, work_mem);
  result->setDesc = descriptor;
  MemoryContextSwitchTo(old);
#endif
}

// Returns a new memory context for pieces that are freed together. PostgreSQL 15 gave it growing
// blocks.
inline MemoryContext create_generation_context(MemoryContext parent, const char *name) {
#if PG_VERSION_NUM >= 150000
  return GenerationContextCreate(parent, name, ALLOCSET_DEFAULT_SIZES);
#else
  return GenerationContextCreate(parent, name, ALLOCSET_DEFAULT_MAXSIZE);
#endif
}

// Returns a new minimal tuple. PostgreSQL 18 can leave room in front of it.
inline MinimalTuple form_minimal_tuple(TupleDesc descriptor, Datum *values, bool *nulls) {
#if PG_VERSION_NUM >= 180000
  return heap_form_minimal_tuple(descriptor, values, nulls, 0);
#else
  return heap_form_minimal_tuple(descriptor, values, nulls);
#endif
}

// What an operator says of two values of an ordering: that one is less, that they differ, or something else.
enum class Comparison { other, unequal, ordered };

// Returns Comparison::ordered for < and > of some ordering, and Comparison::unequal for <>. PostgreSQL 18
// describes comparisons for any index method, earlier versions by strategies of btree.
inline Comparison comparison_of(Oid op) {
  Comparison comparison = Comparison::other;
  ListCell *cell;
#if PG_VERSION_NUM >= 180000
  foreach (cell, get_op_index_interpretation(op)) {
    const CompareType type = static_cast<OpIndexInterpretation *>(lfirst(cell))->cmptype;
    if (type == COMPARE_LT || type == COMPARE_GT) return Comparison::ordered;
    if (type == COMPARE_NE) comparison = Comparison::unequal;
  }
#else
  foreach (cell, get_op_btree_interpretation(op)) {
    const int strategy = static_cast<OpBtreeInterpretation *>(lfirst(cell))->strategy;
    if (strategy == BTLessStrategyNumber || strategy == BTGreaterStrategyNumber) return Comparison::ordered;
    if (strategy == ROWCOMPARE_NE) comparison = Comparison::unequal;
  }
#endif
  return comparison;
}

// Returns the relations of an expression. PostgreSQL 16 counts outer joins among them, which are left out.
inline Relids without_outer_joins(PlannerInfo *root, Relids relids) {
#if PG_VERSION_NUM >= 160000
  return bms_difference(relids, root->outer_join_rels);
#else
  (void)root;
  return relids;
#endif
}

// Returns the expression without its notes on outer joins. PostgreSQL 16 and later note in each column which
// outer joins beneath make the column nullable.
inline Node *without_nulling(Node *expr, void *unused = nullptr) {
#if PG_VERSION_NUM >= 160000
  if (expr == nullptr) return nullptr;
  Node *copy = IsA(expr, Var) ? static_cast<Node *>(copyObjectImpl(expr))
                              : expression_tree_mutator(expr, without_nulling, unused);
  if (IsA(copy, Var)) castNode(Var, copy)->varnullingrels = nullptr;
  if (IsA(copy, PlaceHolderVar)) castNode(PlaceHolderVar, copy)->phnullingrels = nullptr;
  return copy;
#else
  (void)unused;
  return expr;
#endif
}

// Returns the expression, or the list of expressions, with the notes on outer joins that the target list has
// for the same columns.
inline Node *nulled_as(Node *expr, List *target_list) {
#if PG_VERSION_NUM >= 160000
  if (expr == nullptr) return nullptr;
  Node *copy = IsA(expr, Var) ? static_cast<Node *>(copyObjectImpl(expr))
                              : expression_tree_mutator(expr, nulled_as, target_list);
  ListCell *cell;
  foreach (cell, target_list) {
    auto *column = reinterpret_cast<Node *>(lfirst_node(TargetEntry, cell)->expr);
    if (IsA(copy, Var) && IsA(column, Var)) {
      auto *var = castNode(Var, copy), *other = castNode(Var, column);
      if (var->varno == other->varno && var->varattno == other->varattno)
        var->varnullingrels = bms_copy(other->varnullingrels);
    } else if (IsA(copy, PlaceHolderVar) && IsA(column, PlaceHolderVar)) {
      auto *placeholder = castNode(PlaceHolderVar, copy), *other = castNode(PlaceHolderVar, column);
      if (placeholder->phid == other->phid) placeholder->phnullingrels = bms_copy(other->phnullingrels);
    }
  }
  return copy;
#else
  (void)target_list;
  return expr;
#endif
}

// Gives a custom path of a join the clauses that it replaces. PostgreSQL 17 added the field. In earlier
// versions a custom path cannot stand for a join that has pseudoconstant clauses.
#if PG_VERSION_NUM >= 170000
inline constexpr bool custom_join_takes_pseudoconstants = true;
inline void set_custom_restrictinfo(CustomPath *path, List *restrictlist) {
  path->custom_restrictinfo = restrictlist;
}
#else
inline constexpr bool custom_join_takes_pseudoconstants = false;
inline void set_custom_restrictinfo(CustomPath *, List *) {}
#endif

// Adds entries for the slot's row, which its table has, to the open indexes. PostgreSQL 16 added the argument
// for updates that change nothing but summarizing indexes.
inline void insert_index_entries(ResultRelInfo *target, TupleTableSlot *slot, EState *state) {
#if PG_VERSION_NUM >= 160000
  ExecInsertIndexTuples(target, slot, state, false, false, nullptr, NIL, false);
#else
  ExecInsertIndexTuples(target, slot, state, false, false, nullptr, NIL);
#endif
}

// Calls walker(child, context) for each child of an expression until one returns true, and returns whether
// one did. PostgreSQL 16 (1c27d16e6e5) gave walkers a prototype.
inline bool walk_children(Node *expr, bool (*walker)(Node *, void *), void *context) {
#if PG_VERSION_NUM >= 160000
  return expression_tree_walker(expr, walker, context);
#else
  auto *untyped = reinterpret_cast<bool (*)()>(reinterpret_cast<void (*)()>(walker));
  return expression_tree_walker(expr, untyped, context);
#endif
}

// Returns a copy of the expression with mutator(child, context) in the place of each child. PostgreSQL 16
// gave mutators a prototype, too.
inline Node *mutate_children(Node *expr, Node *(*mutator)(Node *, void *), void *context) {
#if PG_VERSION_NUM >= 160000
  return expression_tree_mutator(expr, mutator, context);
#else
  auto *untyped = reinterpret_cast<Node *(*)()>(reinterpret_cast<void (*)()>(mutator));
  return expression_tree_mutator(expr, untyped, context);
#endif
}

// Builds the index of a table of this persistence anew. PostgreSQL 17 added the statement, for event
// triggers.
inline void rebuild_index(Oid index, char persistence) {
  ReindexParams params = {};
#if PG_VERSION_NUM >= 170000
  reindex_index(nullptr, index, false, persistence, &params);
#else
  reindex_index(index, false, persistence, &params);
#endif
}

// Errors unless the user owns the relation, which is of this kind. PostgreSQL 16 has one function for the
// owners of all kinds of objects.
inline void check_owns(Oid relation, ObjectType kind) {
#if PG_VERSION_NUM >= 160000
  const bool owns = object_ownercheck(RelationRelationId, relation, GetUserId());
#else
  const bool owns = pg_class_ownercheck(relation, GetUserId());
#endif
  if (!owns) aclcheck_error(ACLCHECK_NOT_OWNER, kind, get_rel_name(relation));
}

// Returns whether the user may execute the function. PostgreSQL 16 has one function for the rights to all
// kinds of objects.
inline bool may_execute(Oid function) {
#if PG_VERSION_NUM >= 160000
  return object_aclcheck(ProcedureRelationId, function, GetUserId(), ACL_EXECUTE) == ACLCHECK_OK;
#else
  return pg_proc_aclcheck(function, GetUserId(), ACL_EXECUTE) == ACLCHECK_OK;
#endif
}

// Errors unless the user may refresh the materialized view: its owner, and since PostgreSQL 17 whoever has
// the privilege MAINTAIN.
inline void check_may_refresh(Oid view) {
#if PG_VERSION_NUM >= 170000
  const AclResult result = pg_class_aclcheck(view, GetUserId(), ACL_MAINTAIN);
  if (result != ACLCHECK_OK) aclcheck_error(result, OBJECT_MATVIEW, get_rel_name(view));
#else
  check_owns(view, OBJECT_MATVIEW);
#endif
}

// The type of bytes that common/base64.h takes. PostgreSQL 18 made it unsigned.
#if PG_VERSION_NUM >= 180000
using Base64Byte = uint8;
#else
using Base64Byte = char;
#endif

// Plans and explains a query, as EXPLAIN does without a hook. PostgreSQL 17 made the function public.
inline void explain_query(Query *query, int cursor_options, IntoClause *into, ExplainState *es,
                          const char *text, ParamListInfo parameters, QueryEnvironment *environment) {
#if PG_VERSION_NUM >= 170000
  standard_ExplainOneQuery(query, cursor_options, into, es, text, parameters, environment);
#else
  instr_time begin, duration;
  BufferUsage before = {}, used = {};
  if (es->buffers) before = pgBufferUsage;
  INSTR_TIME_SET_CURRENT(begin);
  PlannedStmt *plan = pg_plan_query(query, text, cursor_options, parameters);
  INSTR_TIME_SET_CURRENT(duration);
  INSTR_TIME_SUBTRACT(duration, begin);
  if (es->buffers) BufferUsageAccumDiff(&used, &pgBufferUsage, &before);
  ExplainOnePlan(plan, into, es, text, parameters, environment, &duration, es->buffers ? &used : nullptr);
#endif
}

// Restricts the search path for the rest of a maintenance command, as REFRESH does in PostgreSQL 17 and
// later: functions find only what they name in full.
inline void restrict_search_path() {
#if PG_VERSION_NUM >= 170000
  RestrictSearchPath();
#endif
}

// Calls body(expression) for each expression in an equivalence class that is of just these relations.
// PostgreSQL 18 (d69d45a5a95) keeps the expressions of children, such as partitions, apart.
template <class Body>
void for_equal_expressions(EquivalenceClass *equivalence, Relids relations, Body &&body) {
  const auto visit = [&](const EquivalenceMember *member) {
    if (bms_equal(member->em_relids, relations)) body(member->em_expr);
  };
#if PG_VERSION_NUM >= 180000
  EquivalenceMemberIterator iterator;
  setup_eclass_member_iterator(&iterator, equivalence, relations);
  while (EquivalenceMember *member = eclass_member_iterator_next(&iterator)) visit(member);
#else
  ListCell *cell;
  foreach (cell, equivalence->ec_members) visit(lfirst_node(EquivalenceMember, cell));
#endif
}

}  // namespace simjoin::pg::compat
