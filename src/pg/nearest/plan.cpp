// From a path of NearestRows or SimilarRows to a plan that can be copied.
#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/restrictinfo.h"
}

#include "pg/nearest/facts.hpp"
#include "pg/nearest/path.hpp"
#include "pg/nearest/texts.hpp"

namespace simjoin::pg {
namespace {

const CustomScanMethods nearest_rows_plan_methods = {.CustomName = nearest_rows_name,
                                                     .CreateCustomScanState = create_nearest_rows_state};
const CustomScanMethods similar_rows_plan_methods = {.CustomName = similar_rows_name,
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

// Returns the columns of the node's scan tuple: those of the input, and the similarity that it sorts by, or
// NULL.
List *scan_columns(const NearestRowsPath *path, const Plan *input) {
  List *columns = list_copy_head(input->targetlist, path->columns);
  columns = static_cast<List *>(copyObjectImpl(columns));
  auto *similarity = path->ordered() ? static_cast<Expr *>(copyObjectImpl(path->order.call))
                                     : reinterpret_cast<Expr *>(makeNullConst(FLOAT8OID, -1, InvalidOid));
  const auto number = static_cast<AttrNumber>(path->columns + 1);
  return lappend(columns, makeTargetEntry(similarity, number, nullptr, false));
}

}  // namespace

List *encode_nearest_rows(const NearestRowsFacts &facts) {
  List *encoded = list_make5_int(static_cast<int>(facts.measure), facts.distance, facts.single, facts.ordered,
                                 facts.by_keys);
  encoded = list_concat(encoded, list_make5_int(facts.nulls_first, static_cast<int>(facts.token_type),
                                                facts.columns, facts.output, facts.first_pairs));
  const TextFacts &texts = facts.texts;
  for (const int fact : {int{facts.weighted}, int{texts.used}, static_cast<int>(texts.order.measure),
                         int{texts.order.share}, int{texts.order.probe_first}, int{texts.order.empty_pairs},
                         int{texts.levenshtein}, int{texts.refuses_empty}})
    encoded = lappend_int(encoded, fact);
  return encoded;
}

NearestRowsFacts read_nearest_rows(const CustomScan *plan) {
  const auto *facts = static_cast<List *>(linitial(plan->custom_private));
  return {.measure = static_cast<Measure>(list_nth_int(facts, 0)),
          .distance = list_nth_int(facts, 1) != 0,
          .single = list_nth_int(facts, 2) != 0,
          .ordered = list_nth_int(facts, 3) != 0,
          .by_keys = list_nth_int(facts, 4) != 0,
          .weighted = list_nth_int(facts, 10) != 0,
          .nulls_first = list_nth_int(facts, 5) != 0,
          .token_type = static_cast<TokenType>(list_nth_int(facts, 6)),
          .columns = list_nth_int(facts, 7),
          .output = list_nth_int(facts, 8),
          .first_pairs = list_nth_int(facts, 9),
          .texts = {.used = list_nth_int(facts, 11) != 0,
                    .order = {.measure = static_cast<TextMeasure>(list_nth_int(facts, 12)),
                              .share = list_nth_int(facts, 13) != 0,
                              .probe_first = list_nth_int(facts, 14) != 0,
                              .empty_pairs = list_nth_int(facts, 15) != 0},
                    .levenshtein = list_nth_int(facts, 16) != 0,
                    .refuses_empty = list_nth_int(facts, 17) != 0}};
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
  scan->custom_exprs = lappend(lappend(scan->custom_exprs, order.probe_weights), order.set_weights);
  scan->custom_exprs = lappend(scan->custom_exprs, value_of_text_order(order));
  const NearestRowsFacts facts = {.measure = order.measure,
                                  .distance = order.distance,
                                  .single = order.single,
                                  .ordered = nearest->ordered(),
                                  .by_keys = nearest->by_keys(),
                                  .weighted = order.weighted(),
                                  .nulls_first = order.nulls_first,
                                  .token_type = order.token_type,
                                  .columns = nearest->columns,
                                  .output = nearest->output,
                                  .first_pairs = nearest->first_pairs,
                                  .texts = order.texts};
  scan->custom_private = list_make2(encode_nearest_rows(facts), nearest->keys.functions);
  scan->methods = nearest->ordered() ? &nearest_rows_plan_methods : &similar_rows_plan_methods;
  return &scan->scan.plan;
}

void register_nearest_rows_methods() {
  RegisterCustomScanMethods(&nearest_rows_plan_methods);
  RegisterCustomScanMethods(&similar_rows_plan_methods);
}

}  // namespace simjoin::pg
