// Differences between the supported versions of PostgreSQL in how statements run.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "executor/execdesc.h"
#include "executor/executor.h"
#include "nodes/execnodes.h"
}

namespace simjoin::pg::compat {

// The arguments of a hook for queries that run. PostgreSQL 18 dropped the last one.
struct RunArguments {
  QueryDesc *query;
  ScanDirection direction;
  uint64 count;
  bool once;
};

#if PG_VERSION_NUM >= 180000
template <void (*run)(RunArguments)>
void run_hook(QueryDesc *query, ScanDirection direction, uint64 count) {
  run({query, direction, count, true});
}
inline void call_run(ExecutorRun_hook_type run, const RunArguments &arguments) {
  run(arguments.query, arguments.direction, arguments.count);
}
#else
template <void (*run)(RunArguments)>
void run_hook(QueryDesc *query, ScanDirection direction, uint64 count, bool once) {
  run({query, direction, count, once});
}
inline void call_run(ExecutorRun_hook_type run, const RunArguments &arguments) {
  run(arguments.query, arguments.direction, arguments.count, arguments.once);
}
#endif

// Returns whether the node runs MERGE with an action that updates rows. PostgreSQL 15 added MERGE.
inline bool merge_can_update(const ModifyTableState *node) {
#if PG_VERSION_NUM >= 150000
  return node->operation == CMD_MERGE && (node->mt_merge_subcommands & MERGE_UPDATE) != 0;
#else
  (void)node;
  return false;
#endif
}

// Returns whether the node updates the row that it is at. PostgreSQL 17 notes the action of MERGE. Before,
// only the actions for rows of the target have such a row at hand.
inline bool updates_row(const ModifyTableState *node) {
  if (node->operation == CMD_UPDATE) return true;
#if PG_VERSION_NUM >= 170000
  return node->operation == CMD_MERGE && node->mt_merge_action->mas_action->commandType == CMD_UPDATE;
#elif PG_VERSION_NUM >= 150000
  return node->operation == CMD_MERGE && node->ps.ps_ExprContext->ecxt_scantuple != nullptr;
#else
  return false;
#endif
}

// Returns whether equal rows can be NULL in a unique index. PostgreSQL 15 added the option.
inline bool nulls_are_equal(const IndexInfo *index) {
#if PG_VERSION_NUM >= 150000
  return index->ii_NullsNotDistinct;
#else
  (void)index;
  return false;
#endif
}

}  // namespace simjoin::pg::compat
