#include "pg/base/limit.hpp"

#include <initializer_list>

namespace simjoin::pg {

int rows_asked_for(PlannerInfo *root, Relids relids, int sort_keys) {
  constexpr int64 most = 1000000;
  const Query *query = root->parse;
  if (query->limitOption != LIMIT_OPTION_COUNT || !bms_equal(root->all_baserels, relids)) return 0;
  // Rows of equal similarity that further keys sort, and rows that set-returning functions make nothing of,
  // come in addition.
  if (list_length(root->query_pathkeys) != sort_keys || query->hasTargetSRFs) return 0;
  int64 rows = 0;
  for (Node *node : {query->limitCount, query->limitOffset}) {
    if (node == nullptr) continue;
    if (!IsA(node, Const) || castNode(Const, node)->constisnull) return 0;
    const int64 count = DatumGetInt64(castNode(Const, node)->constvalue);
    if (count < 0 || count > most) return 0;
    rows += count;
  }
  return query->limitCount == nullptr ? 0 : static_cast<int>(rows);
}

}  // namespace simjoin::pg
