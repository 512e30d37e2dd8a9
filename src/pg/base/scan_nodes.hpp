// What the states of the extension's plan nodes have in common.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "executor/executor.h"
#include "nodes/execnodes.h"
}

namespace simjoin::pg {

// Returns a new state, zeroed, of a node with these methods. Its member `css` comes first.
template <class State>
Node *make_node_state(const CustomExecMethods *methods) {
  auto *state = static_cast<State *>(palloc0(sizeof(State)));
  NodeSetTag(state, T_CustomScanState);
  state->css.methods = methods;
  return reinterpret_cast<Node *>(state);
}

// Ends the inputs of a node.
inline void end_inputs(CustomScanState *node) {
  ListCell *cell;
  foreach (cell, node->custom_ps) ExecEndNode(static_cast<PlanState *>(lfirst(cell)));
}

}  // namespace simjoin::pg
