// Equality clauses that keep the rows of a join apart.
#include "pg/join/clause/match.hpp"

extern "C" {
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
}

#include <utility>

namespace simjoin::pg {

List *find_partition_clauses(RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner, JoinType jointype,
                             List *restrictlist) {
  List *found = NIL;
  ListCell *cell;
  foreach (cell, restrictlist) {
    auto *rinfo = lfirst_node(RestrictInfo, cell);
    if (!rinfo->can_join || !OidIsValid(rinfo->hashjoinoperator)) continue;
    if (!decides_match(rinfo, joinrel, jointype)) continue;
    const bool in_order =
        bms_is_subset(rinfo->left_relids, outer->relids) && bms_is_subset(rinfo->right_relids, inner->relids);
    const bool swapped =
        bms_is_subset(rinfo->left_relids, inner->relids) && bms_is_subset(rinfo->right_relids, outer->relids);
    auto *clause = reinterpret_cast<Node *>(rinfo->clause);
    if ((in_order || swapped) && !contain_volatile_functions(clause) && !contain_subplans(clause))
      found = lappend(found, rinfo);
  }
  return found;
}

PartitionKey partition_key(RestrictInfo *rinfo, RelOptInfo *outer) {
  auto *clause = castNode(OpExpr, rinfo->clause);
  PartitionKey key = {};
  key.left = static_cast<Expr *>(linitial(clause->args));
  key.right = static_cast<Expr *>(lsecond(clause->args));
  key.collation = clause->inputcollid;
  if (!get_op_hash_functions(rinfo->hashjoinoperator, &key.left_hash, &key.right_hash))
    elog(ERROR, "similarity join: no hash functions for operator %u", rinfo->hashjoinoperator);
  if (!bms_is_subset(rinfo->left_relids, outer->relids)) {
    std::swap(key.left, key.right);
    std::swap(key.left_hash, key.right_hash);
  }
  return key;
}

}  // namespace simjoin::pg
