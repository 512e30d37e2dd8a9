// Joins of a table with itself, in the planner: the same rows in two roles.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
#include "rewrite/rewriteManip.h"
}

#include "pg/base/compat.hpp"
#include "pg/join/clause/match.hpp"

namespace simjoin::pg {

// Returns a copy of the inner relation's expressions as expressions of the outer relation.
template <class NodeType>
NodeType *as_outer(NodeType *node, Index inner_relid, Index outer_relid) {
  auto *copy = static_cast<NodeType *>(copyObjectImpl(node));
  ChangeVarNodes(reinterpret_cast<Node *>(copy), static_cast<int>(inner_relid), static_cast<int>(outer_relid),
                 0);
  return copy;
}

// Returns whether both relations are the same table and the clause compares the same set of it.
bool same_set_of_same_table(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner,
                            const SimilarityClause &clause);

// Returns whether the same conditions hold for the rows of both relations.
bool same_conditions(RelOptInfo *outer, RelOptInfo *inner);

// Returns how clauses compare one expression of both roles, as a.id < b.id does. Either comparison excludes
// that a row is paired with itself. Comparison::ordered excludes, too, that a pair holds both ways round.
compat::Comparison comparison_of_roles(List *restrictlist, Index outer_relid, Index inner_relid);

}  // namespace simjoin::pg
