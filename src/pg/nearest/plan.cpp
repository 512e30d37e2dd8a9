// From a path of the node NearestRows to a plan that can be copied.
#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/makefuncs.h"
#include "optimizer/restrictinfo.h"
}

#include "pg/nearest/facts.hpp"
#include "pg/nearest/path.hpp"

namespace simjoin::pg {
namespace {

const CustomScanMethods nearest_rows_plan_methods = {.CustomName = nearest_rows_name,
                                                     .CreateCustomScanState = create_nearest_rows_state};

// Returns the conditions that are not part of the input, in the order of the list.
List *conditions_on_outer(List *clauses) {
  List *conditions = NIL;
  ListCell *cell;
  foreach (cell, clauses) {
    auto *rinfo = lfirst_node(RestrictInfo, cell);
    if (!rinfo->pseudoconstant && depends_on_outer(reinterpret_cast<Node *>(rinfo->clause)))
      conditions = lappend(conditions, rinfo->clause);
  }
  return conditions;
}

// Returns the columns of the node's scan tuple: those of the input, and the similarity.
List *scan_columns(const NearestRowsPath *path, const Plan *input) {
  List *columns = list_copy_head(input->targetlist, path->columns);
  columns = static_cast<List *>(copyObjectImpl(columns));
  return lappend(columns, makeTargetEntry(static_cast<Expr *>(copyObjectImpl(path->order.call)),
                                          static_cast<AttrNumber>(path->columns + 1), nullptr, false));
}

}  // namespace

List *encode_nearest_rows(const NearestRowsFacts &facts) {
  return lappend_int(list_make5_int(static_cast<int>(facts.measure), facts.distance, facts.nulls_first,
                                    static_cast<int>(facts.token_type), facts.columns),
                     facts.first_pairs);
}

NearestRowsFacts read_nearest_rows(const CustomScan *plan) {
  const auto *facts = static_cast<List *>(linitial(plan->custom_private));
  return {static_cast<Measure>(list_nth_int(facts, 0)),
          list_nth_int(facts, 1) != 0,
          list_nth_int(facts, 2) != 0,
          static_cast<TokenType>(list_nth_int(facts, 3)),
          list_nth_int(facts, 4),
          list_nth_int(facts, 5)};
}

Plan *plan_nearest_rows(PlannerInfo *, RelOptInfo *, CustomPath *path, List *tlist, List *clauses,
                        List *custom_plans) {
  auto *nearest = reinterpret_cast<NearestRowsPath *>(path);
  const SimilarityOrder &order = nearest->order;
  CustomScan *scan = makeNode(CustomScan);
  scan->scan.plan.targetlist = tlist;
  scan->scan.plan.qual = conditions_on_outer(clauses);
  scan->scan.scanrelid = 0;
  scan->flags = path->flags;
  scan->custom_plans = custom_plans;
  scan->custom_scan_tlist = scan_columns(nearest, static_cast<Plan *>(linitial(custom_plans)));
  scan->custom_exprs =
      list_make5(order.probe, order.set, nearest->bound, nearest->keys.of_rows, nearest->keys.of_outer);
  scan->custom_private =
      list_make2(encode_nearest_rows({order.measure, order.distance, order.nulls_first, order.token_type,
                                      nearest->columns, nearest->first_pairs}),
                 nearest->keys.functions);
  scan->methods = &nearest_rows_plan_methods;
  return &scan->scan.plan;
}

void register_nearest_rows_methods() {
  RegisterCustomScanMethods(&nearest_rows_plan_methods);
}

}  // namespace simjoin::pg
