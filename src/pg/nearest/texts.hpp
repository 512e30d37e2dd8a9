// Rows in the order of an edit distance, or of a similarity by Jaro, of two texts instead of sets.
#pragma once

#include "pg/base/pg.hpp"

#include "core/nearest/text_order.hpp"
#include "pg/nearest/order.hpp"

namespace simjoin::pg {

struct NearestRowsPath;
struct NearestRowsState;
enum class NearestPhase : uint8_t;

// Returns whether the sort key is such an order of the relation's rows, and describes it.
bool describe_text_order(PlannerInfo *root, RelOptInfo *rel, const PathKey *key, SimilarityOrder *order);

// Returns what bound_of_order() returns, for texts.
Expr *bound_of_text_order(const SimilarityOrder &order, RestrictInfo *condition);

// Returns the expression that rows are sorted by such that the planner does not take it for the column of the
// node that it fills.
Expr *value_of_text_order(const SimilarityOrder &order);

// The cost of an index and of a search, in calls of a simple operator, and its memory.
struct IndexCosts {
  double index, search, bytes;
};
IndexCosts costs_of_texts(PlannerInfo *root, const RelOptInfo *rel, const NearestRowsPath *nearest,
                          double rows, double of_key);

// Adds the text of the row in the scan tuple, or the probe, whose key has this hash.
void feed_keyed_text(NearestRowsState *state, Side side, Datum value, uint64_t key);

// Adds the text of the row in the scan tuple. Notes one that the distance may refuse.
void add_text_of_row(NearestRowsState *state, Datum value, uint64_t key);

// Begins a scan with the probe, which is not NULL, and returns its first phase.
NearestPhase begin_nearest_text(NearestRowsState *state, Datum probe, uint64_t key);

// Returns whether the order is NULL for a row with this text and the probe: both are empty.
bool is_null_for_empty(const NearestRowsState *state, uint32_t row);

// Gives the current row, which has the scan tuple, the value that it is sorted by, if it meets the conditions
// without that.
void fill_value_of_text(NearestRowsState *state);

// Returns what EXPLAIN calls the comparison.
const char *compared_by_texts(const TextFacts &facts);

}  // namespace simjoin::pg
