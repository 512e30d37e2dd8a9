// What nodes have in common that search in steps.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
}

#include "pg/base/interrupts.hpp"
#include "pg/base/scan_nodes.hpp"

namespace simjoin::pg {

// Each step runs an input of the node from its beginning, with a wider bound than the step before, and its
// rows come in order. After the last step all rows come, by another input.
struct SteppedSearch {
  int first, steps;  // of the steps, those from `first` on are made, before `steps`
  int most_rows;     // that are asked for; 0 where this is not known
  int step;          // after the last one all rows come
  bool begun;        // the step has a row, or had one
  int64 taken;       // rows of the step
  int searches;      // for EXPLAIN ANALYZE: the most of an execution
  bool all_rows;     // the same: whether they came

  bool searching() const { return step < steps; }
};

// Begins a node that searches. Each step sorts anew, so no input is asked to go back.
inline void begin_steps(CustomScanState *node, SteppedSearch *search, int first, int steps, int most_rows,
                        EState *estate, int eflags) {
  *search = {.first = first,
             .steps = steps,
             .most_rows = most_rows,
             .step = first,
             .begun = false,
             .taken = 0,
             .searches = 0,
             .all_rows = false};
  begin_inputs(node, estate, eflags & ~(EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK));
}

// Returns the next row of the step, or an empty slot. Meanwhile `current` is the bound of the step.
template <class Bound>
TupleTableSlot *next_of_step(SteppedSearch *search, PlanState *input, Bound *current, const Bound &bound) {
  const Bound outer = *current;
  if (search->searching()) *current = bound;
  TupleTableSlot *volatile slot = nullptr;
  // An error that a function in a condition catches must not leave this bound to the node around it.
  PG_TRY();
  {
    if (!search->begun) {
      search->begun = true;
      search->taken = 0;
      search->searches = Max(search->searches, Min(search->step + 1, search->steps) - search->first);
      search->all_rows |= !search->searching();
      ExecReScan(input);
      // The rows of earlier steps are among those of this one, and count towards the limit.
      if (search->most_rows > 0) ExecSetTupleBound(search->most_rows, input);
    }
    // A step of inputs that have changed since the last one may have other rows than are asked for.
    if (search->most_rows == 0 || search->taken < search->most_rows) slot = ExecProcNode(input);
    ++search->taken;
  }
  PG_FINALLY();
  { *current = outer; }
  PG_END_TRY();
  return slot;
}

// Makes the row the node's own, and returns it as the node does.
inline TupleTableSlot *return_row(CustomScanState *node, TupleTableSlot *row) {
  TupleTableSlot *result = node->ss.ss_ScanTupleSlot;
  slot_getallattrs(row);
  const auto columns = static_cast<size_t>(result->tts_tupleDescriptor->natts);
  memcpy(result->tts_values, row->tts_values, sizeof(Datum) * columns);
  memcpy(result->tts_isnull, row->tts_isnull, sizeof(bool) * columns);
  ExecStoreVirtualTuple(result);
  ExprContext *context = node->ss.ps.ps_ExprContext;
  ResetExprContext(context);
  context->ecxt_scantuple = result;
  return node->ss.ps.ps_ProjInfo != nullptr ? ExecProject(node->ss.ps.ps_ProjInfo) : result;
}

// Returns the node's next row. input() and bound() are those of the step, and came_before(row) says whether
// the row came in an earlier one.
template <class Bound, class Input, class BoundOfStep, class CameBefore>
TupleTableSlot *exec_steps(CustomScanState *node, SteppedSearch *search, Bound *current, Input &&input,
                           BoundOfStep &&bound, CameBefore &&came_before) {
  ExecClearTuple(node->ss.ss_ScanTupleSlot);
  while (search->step <= search->steps) {
    check_interrupts();
    TupleTableSlot *row = next_of_step(search, input(), current, bound());
    if (TupIsNull(row)) {
      ++search->step;
      search->begun = false;
    } else if (search->step == search->first || !came_before(row)) {
      return return_row(node, row);
    }
  }
  return nullptr;
}

inline void rescan_steps(CustomScanState *node, SteppedSearch *search) {
  ExecClearTuple(node->ss.ss_ScanTupleSlot);
  search->step = search->first;
  search->begun = false;
  pass_changed_parameters(node);
}

inline void end_steps(CustomScanState *node) {
  ExecClearTuple(node->ss.ss_ScanTupleSlot);
  end_inputs(node);
}

}  // namespace simjoin::pg
