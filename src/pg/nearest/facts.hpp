// What the planner tells the executor about the nodes NearestRows and SimilarRows.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/extensible.h"
#include "nodes/plannodes.h"
}

#include "core/nearest/nearest_join.hpp"
#include "pg/join/clause/facts.hpp"
#include "pg/nearest/order.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {

struct NearestRowsFacts {
  Measure measure;  // of the probe and a row's set
  bool distance;
  bool single;
  bool ordered;   // NearestRows, else SimilarRows
  bool by_keys;   // in SimilarRows, whose rows share a key with the probe
  bool weighted;  // the sets have weights
  bool nulls_first;
  TokenType token_type;
  int columns;      // of the first child that are kept: its first ones. The similarity is the next column.
  int output;       // of the second child: the first ones of these. If ordered, the similarity is the next.
  int first_pairs;  // that a scan asks for at first
  TextFacts texts;  // if used, the rows are sorted by a comparison of texts

  NearestOrder order() const { return {measure, distance, single}; }
};

// The expressions of CustomScan.custom_exprs, by position.
enum class NearestRowsExpr : int {
  probe,
  set,
  bound,
  keys_of_rows,
  keys_of_outer,
  probe_weights,
  set_weights,
  value
};

// CustomScan.custom_private is a list of two: the facts, and the functions of the keys.
List *encode_nearest_rows(const NearestRowsFacts &facts);
NearestRowsFacts read_nearest_rows(const CustomScan *plan);
inline List *nearest_key_functions(const CustomScan *plan) {
  return static_cast<List *>(lsecond(plan->custom_private));
}

// Returns an expression of the plan, or a list of some, NULL where the plan lacks it.
inline Expr *nearest_rows_expr(const CustomScan *plan, NearestRowsExpr which) {
  return static_cast<Expr *>(list_nth(plan->custom_exprs, static_cast<int>(which)));
}

// CreateCustomScanState of the nodes.
Node *create_nearest_rows_state(CustomScan *plan);

}  // namespace simjoin::pg
