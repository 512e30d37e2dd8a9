// What the planner tells the executor about the node NearestRows.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/extensible.h"
#include "nodes/plannodes.h"
}

#include "core/measure.hpp"
#include "pg/join/clause/facts.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {

struct NearestRowsFacts {
  Measure measure;  // of the probe and a row's set
  bool distance;
  bool nulls_first;
  TokenType token_type;
  int columns;      // of the children that are kept: their first ones. The similarity is the next column.
  int first_pairs;  // that a scan asks for at first
};

// The expressions of CustomScan.custom_exprs, by position.
enum class NearestRowsExpr : int { probe, set, bound, keys_of_rows, keys_of_outer };

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

// CreateCustomScanState of the node.
Node *create_nearest_rows_state(CustomScan *plan);

}  // namespace simjoin::pg
