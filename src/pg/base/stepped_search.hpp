// What nodes have in common that search in steps.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
}

#include <limits>

#include "pg/base/interrupts.hpp"
#include "pg/base/scan_nodes.hpp"

namespace simjoin::pg {

constexpr int64 unlimited_work = std::numeric_limits<int64>::max() / 2;  // it can be counted up and down

// Each step runs an input of the node from its beginning, with a wider bound than the step before, and its
// rows come in order. After the last step all rows come, by another input. They come at once if the input of
// a step has used up what work there is for searches, before the step has a row.
struct SteppedSearch {
  int first, steps;   // of the steps, those from `first` on are made, before `steps`
  int most_rows;      // that are asked for; 0 where this is not known
  int64 most_work;    // of the inputs of all steps together
  int step;           // after the last one all rows come
  int finished;       // the last step whose rows have come
  bool begun;         // the step has a row, or had one
  int64 taken;        // rows of the step
  int64 work_left;    // the input of a step counts it down, and ends below 0
  int64 spared;       // the same, while the step has rows; else negative
  int searches;       // for EXPLAIN ANALYZE: the most of an execution
  bool all_rows;      // the same: whether they came
  bool has_given_up;  // the same: since there was no work left

  bool searching() const { return step < steps; }
  bool any_finished() const { return finished >= first; }

  void restart() {
    step = first;
    finished = first - 1;
    begun = false;
    work_left = most_work;
    spared = -1;
  }
};

// Begins a node that searches. Each step sorts anew, so no input is asked to go back.
inline void begin_steps(CustomScanState *node, SteppedSearch *search, int first, int steps, int most_rows,
                        int64 most_work, EState *estate, int eflags) {
  *search = {};
  search->first = first;
  search->steps = steps;
  search->most_rows = most_rows;
  search->most_work = most_work;
  search->restart();
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
      if (search->searching()) search->searches = Max(search->searches, search->step + 1 - search->first);
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

// Goes to the next step, or to all rows.
inline void end_step(SteppedSearch *search) {
  const bool gives_up = search->searching() && search->work_left < 0;
  if (!gives_up) search->finished = search->step;
  search->has_given_up |= gives_up;
  search->step = gives_up ? search->steps : search->step + 1;
  search->begun = false;
  if (search->spared >= 0) search->work_left = search->spared;
  search->spared = -1;
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
    if (TupIsNull(row) || (search->searching() && search->work_left < 0)) {
      end_step(search);
      continue;
    }
    if (search->taken == 1) {
      search->spared = search->work_left;
      search->work_left = unlimited_work;  // the row may go up, so the step is not given up
    }
    if (!search->any_finished() || !came_before(row)) return return_row(node, row);
  }
  return nullptr;
}

inline void rescan_steps(CustomScanState *node, SteppedSearch *search) {
  ExecClearTuple(node->ss.ss_ScanTupleSlot);
  search->restart();
  pass_changed_parameters(node);
}

inline void end_steps(CustomScanState *node) {
  ExecClearTuple(node->ss.ss_ScanTupleSlot);
  end_inputs(node);
}

}  // namespace simjoin::pg
