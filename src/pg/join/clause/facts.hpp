// What the planner tells the executor about a join, in a plan that can be copied.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/plannodes.h"
}

#include "core/join.hpp"
#include "core/measure.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {

// The join operator's name in EXPLAIN.
inline constexpr char join_node_name[] = "SetSimilarityJoin";

// The names of the scans for the nearest rows of each row: by an index of its own (pg/nearest), which serves
// the similar rows, too, and by an index on sets (pg/index).
inline constexpr char nearest_rows_name[] = "NearestRows";
inline constexpr char similar_rows_name[] = "SimilarRows";
inline constexpr char nearest_sets_name[] = "NearestSets";

// The name of the node that gives pairs by descending similarity: by joins with thresholds that fall.
inline constexpr char nearest_pairs_name[] = "NearestPairs";

// What a column of the node's scan tuple holds.
enum class ColumnSource : int { left, right, similarity };

// The facts that the executor needs.
struct JoinPlanFacts {
  JoinType jointype;
  bool read_once;
  bool skip_same_row;  // the other clauses exclude pairs of a row with itself
  bool one_way;        // the other clauses hold for a pair one way round at most
  bool from_settings;
  bool implied;  // by a condition, which filters the pairs
  bool ranked;   // it is a search of NearestPairs, which tells its threshold
  Measure measure;
  bool distance;
  bool strict;
  TokenType token_type;
  AttrNumber set_column[2];      // of the children's output
  AttrNumber weights_column[2];  // the same; 0 without weights
  Side smaller;                  // the side that is expected to have fewer tokens, and is read first
  bool exact_is_cheaper;         // than the planned join by bands, by the planner's estimates

  bool weighted() const { return weights_column[0] != InvalidAttrNumber; }

  // Returns whether the join asks only if a left row has a partner.
  bool asks_for_existence() const { return jointype == JOIN_SEMI || jointype == JOIN_ANTI; }

  // Returns whether rows of the side that have no partner are rows of the result.
  bool keeps_unmatched(Side side) const {
    return jointype == JOIN_FULL || (side == Side::left && (jointype == JOIN_LEFT || jointype == JOIN_ANTI));
  }
};

// Returns the SQL name of the clause's function, or of the function behind its operator. Errors about a set
// name it, as the function itself does.
const char *clause_function(const JoinPlanFacts &facts);

// One partition key: the children's output columns that hold it, and how to hash them.
struct JoinKey {
  AttrNumber column[2];
  Oid hash_function[2];
  Oid collation;
};

// One entry of the scan tuple: where its value comes from, and which output column of the child it is.
struct JoinColumn {
  ColumnSource source;
  AttrNumber child_column;
};

// The expressions of CustomScan.custom_exprs, by position.
enum class JoinExpr : int { threshold, join_quals, clause, partition_clauses, other_clauses };

// What EXPLAIN says of several clauses that could drive the join.
struct JoinChoice {
  List *candidates;  // Float nodes: of the clause and of each other clause; NIL where they are not estimated
  const char *why_not;  // they are not estimated; NULL where there was no need
};

// CustomScan.custom_private is a list of four: the facts, the scan tuple's columns, the partition keys and
// the choice.
List *encode_join(const JoinPlanFacts &facts, List *columns, List *keys, const JoinChoice &choice);

// Append a column or a partition key to a list for encode_join().
List *append_column(List *columns, JoinColumn column);
List *append_key(List *keys, const JoinKey &key);

// Returns the facts and, in *columns, the array of the scan tuple's columns (palloc'd).
JoinPlanFacts read_plan(const CustomScan *plan, JoinColumn **columns);

// Returns the partition keys as a palloc'd array, and their number in *count.
JoinKey *read_partition_keys(const CustomScan *plan, int *count);

// Returns the choice of the clause.
JoinChoice read_choice(const CustomScan *plan);

// Returns an expression of the plan, NULL where the plan lacks it.
Node *plan_expression(const CustomScan *plan, JoinExpr which);

}  // namespace simjoin::pg
