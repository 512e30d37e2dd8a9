// What the extension's plan nodes have in common, their paths and their states.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "executor/executor.h"
#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
}

#include "pg/base/compat.hpp"

namespace simjoin::pg {

// Begins a path, zeroed, of a node that returns the rows of the relation in this order. The caller gives it
// rows, costs and the paths below it.
inline void begin_path(CustomPath *custom, RelOptInfo *rel, List *pathkeys,
                       const CustomPathMethods *methods) {
  custom->path.type = T_CustomPath;
  custom->path.pathtype = T_CustomScan;
  custom->path.parent = rel;
  custom->path.pathtarget = rel->reltarget;
  custom->path.pathkeys = pathkeys;
  custom->flags = compat::custom_path_projects;
  custom->methods = methods;
}

// The functions of a node.
struct NodeMethods {
  const char *name;
  decltype(CustomExecMethods::BeginCustomScan) begin;
  decltype(CustomExecMethods::ExecCustomScan) exec;
  decltype(CustomExecMethods::EndCustomScan) end;
  decltype(CustomExecMethods::ReScanCustomScan) rescan;
  decltype(CustomExecMethods::ExplainCustomScan) explain = nullptr;
};

// Returns what PostgreSQL calls for such a node, which neither marks places nor shares its state with
// parallel workers.
constexpr CustomExecMethods exec_methods_of(const NodeMethods &node) {
  return {.CustomName = node.name,
          .BeginCustomScan = node.begin,
          .ExecCustomScan = node.exec,
          .EndCustomScan = node.end,
          .ReScanCustomScan = node.rescan,
          .MarkPosCustomScan = nullptr,
          .RestrPosCustomScan = nullptr,
          .EstimateDSMCustomScan = nullptr,
          .InitializeDSMCustomScan = nullptr,
          .ReInitializeDSMCustomScan = nullptr,
          .InitializeWorkerCustomScan = nullptr,
          .ShutdownCustomScan = nullptr,
          .ExplainCustomScan = node.explain};
}

// Returns a new state, zeroed, of a node with these methods. Its member `css` comes first.
template <class State>
Node *make_node_state(const CustomExecMethods *methods) {
  auto *state = static_cast<State *>(palloc0(sizeof(State)));
  NodeSetTag(state, T_CustomScanState);
  state->css.methods = methods;
  return reinterpret_cast<Node *>(state);
}

// Begins the inputs of a node.
inline void begin_inputs(CustomScanState *node, EState *estate, int eflags) {
  ListCell *cell;
  foreach (cell, castNode(CustomScan, node->ss.ps.plan)->custom_plans)
    node->custom_ps =
        lappend(node->custom_ps, ExecInitNode(static_cast<Plan *>(lfirst(cell)), estate, eflags));
}

// Tells the inputs of a node that is scanned again which parameters have changed.
inline void pass_changed_parameters(CustomScanState *node) {
  if (node->ss.ps.chgParam == nullptr) return;
  ListCell *cell;
  foreach (cell, node->custom_ps)
    UpdateChangedParamSet(static_cast<PlanState *>(lfirst(cell)), node->ss.ps.chgParam);
}

// Ends the inputs of a node.
inline void end_inputs(CustomScanState *node) {
  ListCell *cell;
  foreach (cell, node->custom_ps) ExecEndNode(static_cast<PlanState *>(lfirst(cell)));
}

}  // namespace simjoin::pg
