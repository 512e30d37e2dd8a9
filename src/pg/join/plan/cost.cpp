#include "pg/join/plan/cost.hpp"

extern "C" {
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
}

#include <cmath>

#include "core/base/costs.hpp"
#include "core/stream/streamed_join.hpp"
#include "pg/join/clause/method.hpp"
#include "pg/join/estimate/selectivity.hpp"
#include "pg/join/estimate/set_statistics.hpp"

namespace simjoin::pg {
namespace {

// Cost constants, in calls of a simple operator (15 ns, or 0.0025 of a page read sequentially). They were
// measured on two cores of a Cascade Lake at 2.5 GHz. The data were sets of 5, 30 and 200 integers and of 10
// words, 2 to 320 rows a side, and the generated collections dblp, kosarak, enron and aol.
constexpr double operators_to_start = 8000;     // creating the engine
constexpr double operators_per_token = 1.0;     // reading, ranking and sorting a token
constexpr double operators_per_shared = 0.001;  // a token that two sets share, a posting in the index
constexpr double operators_per_match = 20;      // handing a pair up and evaluating the other clauses on it
// A side that streams was measured in one thread of an AMD EPYC, in proportion to a nested loop: 1,000,000
// titles with some 56 shingles each and 1,000,000 skewed sets of 20 integers, against 1 to 10,000 others.
constexpr double operators_to_stream = 800;        // creating the engine
constexpr double operators_per_lookup = 0.2;       // a token of the streamed side
constexpr double operators_per_known_token = 1.0;  // such a token that the small side has, too
// Joins by bands were measured on the generated collections dblp 1 and kosarak 0.2, on the Cascade Lake.
constexpr double operators_per_evaluation = 0.012;  // a hash value of a token
constexpr double operators_per_bucket = 6;  // a row in a band: its key is made, sorted and looked through
constexpr double operators_per_collision = 0.3;  // a pair that shares a bucket
constexpr double operators_per_merge = 0.1;      // of each token of a similar pair's set
constexpr double clearly_cheaper = 0.8;    // the ratio from which on EXPLAIN names the exact join as cheaper
constexpr double operators_per_call = 10;  // of a measure
constexpr double operators_per_call_token = 1;   // of either of its sets: sorting and merging
constexpr double operators_per_call_text = 2.5;  // the same for texts

// Returns the share of the pairs of rows that satisfy all of the clauses.
double inner_join_selectivity(PlannerInfo *root, List *clauses, RelOptInfo *outer, RelOptInfo *inner) {
  SpecialJoinInfo plain = {};
  plain.type = T_SpecialJoinInfo;
  plain.min_lefthand = plain.syn_lefthand = outer->relids;
  plain.min_righthand = plain.syn_righthand = inner->relids;
  plain.jointype = JOIN_INNER;
  return clauselist_selectivity(root, clauses, 0, JOIN_INNER, &plain);
}

// What a join has to do.
struct JoinWork {
  double sets, tokens;   // of both sides
  double same_key;       // the share of the pairs of rows that no equality clause keeps apart
  double compared;       // the number of these pairs
  double shared_tokens;  // tokens that two sets share, on average
  double average_size;
  double pairs;  // similar pairs
};

// Returns the cost of finding the pairs, in simple operators.
double operators_by_index(const JoinWork &work) {
  return work.compared * work.shared_tokens * operators_per_shared + work.pairs * operators_per_match;
}

// Returns the cost of looking up the tokens of the streamed side, in simple operators. Few of them are tokens
// of the small side, unless that has many sets.
double operators_to_look_up(const JoinWork &work, double tokens) {
  const double known = Min(tokens, work.compared * work.shared_tokens);
  return tokens * operators_per_lookup + known * operators_per_known_token;
}

// Returns the cost of a join by bands, in simple operators. `collisions` is the share of the pairs of rows
// that share a bucket. Filters rule nearly all of them out but the similar ones.
double operators_by_bands(const JoinWork &work, const BandPlan &plan, bool weighted, double collisions) {
  const double evaluations = weighted ? costs::minhash::cpu_sample / costs::minhash::cpu_evaluation : 1;
  return work.tokens * plan.bands * plan.rows * evaluations * operators_per_evaluation +
         work.sets * plan.bands * operators_per_bucket +
         work.compared * collisions * operators_per_collision +
         work.pairs * (work.average_size * operators_per_merge + operators_per_match);
}

// The cost of the clauses beside the hash clauses of a hash join, for one row of the same key.
struct FilterCost {
  double as_charged;  // where all clauses are evaluated
  double expected;    // where the similarity clause comes after the clauses that cost less
};

FilterCost cost_filter(PlannerInfo *root, const HashPath *path, RelOptInfo *outer, RelOptInfo *inner,
                       const SimilarityClause &clause) {
  QualCost similarity;
  cost_qual_eval_node(&similarity, reinterpret_cast<Node *>(clause.rinfo), root);
  FilterCost cost = {};
  List *cheaper = NIL;
  ListCell *cell;
  foreach (cell, list_difference_ptr(path->jpath.joinrestrictinfo, path->path_hashclauses)) {
    QualCost other;
    cost_qual_eval_node(&other, static_cast<Node *>(lfirst(cell)), root);
    cost.as_charged += other.per_tuple;
    if (other.per_tuple >= similarity.per_tuple) continue;
    cheaper = lappend(cheaper, lfirst(cell));
    cost.expected += other.per_tuple;
  }
  cost.expected += similarity.per_tuple * inner_join_selectivity(root, cheaper, outer, inner);
  return cost;
}

// Adds what PostgreSQL leaves out of the cost of a hash join for SEMI or ANTI. PostgreSQL charges the filter
// for one row at most of an outer row's key, as if the first one passed. A similarity clause lets nearly none
// pass.
void charge_calls(PlannerInfo *root, HashPath *path, RelOptInfo *outer, RelOptInfo *inner,
                  const SimilarityClause &clause, const SemiAntiJoinFactors &factors) {
  const double rows = path->jpath.outerjoinpath->rows;
  const double matched = std::rint(rows * factors.outer_match_frac);
  const double charged = path->jpath.jointype == JOIN_ANTI ? rows - matched : matched;
  const double same_key =
      path->inner_rows_total * inner_join_selectivity(root, path->path_hashclauses, outer, inner);
  const double filtered =
      (rows - matched) * same_key + matched * Max(same_key / (factors.match_count + 1.0), 1.0);
  const FilterCost filter = cost_filter(root, path, outer, inner, clause);
  path->jpath.path.total_cost += Max(filtered * filter.expected - charged * filter.as_charged, 0.0);
}

// Takes the hash joins for SEMI or ANTI of these two relations off the list and returns them.
List *take_hash_joins(List **paths, RelOptInfo *outer, RelOptInfo *inner) {
  List *taken = NIL;
  ListCell *cell;
  foreach (cell, *paths) {
    if (!IsA(lfirst(cell), HashPath)) continue;
    const ::JoinPath &join = lfirst_node(HashPath, cell)->jpath;
    if (join.jointype != JOIN_SEMI && join.jointype != JOIN_ANTI) continue;
    if (join.outerjoinpath->parent == outer && join.innerjoinpath->parent == inner)
      taken = lappend(taken, lfirst(cell));
  }
  *paths = list_difference_ptr(*paths, taken);
  return taken;
}

// One side of a join.
struct SideWork {
  Path *path;  // NULL where the side is not read
  double rows, tokens;
};

// Returns the cost of reading a side that is kept.
double cost_reading(const SideWork &side) {
  if (side.path == nullptr) return 0;
  return side.path->total_cost + side.rows * cpu_tuple_cost +
         side.tokens * operators_per_token * cpu_operator_cost;
}

// Sets the costs of a join whose small side is read and indexed, while the other one streams past it.
void cost_stream(Path *path, const SideWork &small, const SideWork &streamed, const JoinWork &work) {
  path->startup_cost =
      operators_to_stream * cpu_operator_cost + cost_reading(small) + streamed.path->startup_cost;
  // Rows with keys that no row of the small side has are not looked up.
  const double looked_up = streamed.tokens * Min(1.0, work.same_key * small.rows);
  const double operators = operators_to_look_up(work, looked_up) + operators_by_index(work);
  path->total_cost = path->startup_cost + streamed.path->total_cost - streamed.path->startup_cost +
                     operators * cpu_operator_cost + (streamed.rows + path->rows) * cpu_tuple_cost;
}

}  // namespace

void cost_join(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner, JoinPath *join,
               SpecialJoinInfo *sjinfo) {
  const SimilarityClause &clause = join->clause;
  const SetShape left = set_shape(root, reinterpret_cast<Node *>(clause.left), clause.token_type);
  const SetShape right = set_shape(root, reinterpret_cast<Node *>(clause.right), clause.token_type);
  SideWork sides[2] = {
      {static_cast<Path *>(linitial(join->custom.custom_paths)), outer->rows,
       outer->rows * left.average_size},
      {static_cast<Path *>(llast(join->custom.custom_paths)), inner->rows, inner->rows * right.average_size}};
  join->smaller = sides[0].tokens <= sides[1].tokens ? Side::left : Side::right;
  if (join->read_once) sides[1] = {};

  JoinWork work;
  work.sets = sides[0].rows + sides[1].rows;
  work.tokens = sides[0].tokens + sides[1].tokens;
  work.same_key = inner_join_selectivity(root, join->partition_clauses, outer, inner);
  work.compared = outer->rows * inner->rows * work.same_key;
  work.shared_tokens = std::sqrt(left.shared_tokens * right.shared_tokens);
  work.average_size = (left.average_size + right.average_size) / 2;
  work.pairs = work.compared * pair_selectivity(root, clause, sjinfo);
  const Bounds bounds = planned_bounds(clause);
  const JoinMethod method =
      choose_method(bounds.measure(), bounds.threshold(), join->jointype, clause.weighted());

  Path *path = &join->custom.path;
  const SideWork &small = sides[join->smaller == Side::left ? 0 : 1];
  if (!clause.weighted() && may_stream(method, bounds.threshold(), join->read_once) &&
      small.rows <= StreamedJoin::most_rows && small.tokens <= StreamedJoin::most_tokens) {
    cost_stream(path, small, sides[join->smaller == Side::left ? 1 : 0], work);
    return;
  }
  path->startup_cost = operators_to_start * cpu_operator_cost;
  for (const SideWork &side : sides) path->startup_cost += cost_reading(side);
  double operators = operators_by_index(work);
  if (method.by_bands) {
    const double average_jaccard = work.shared_tokens / Max(2 * work.average_size - work.shared_tokens, 1.0);
    const double by_bands =
        operators_by_bands(work, method.plan, clause.weighted(),
                           candidate_share(root, clause, method.plan, Min(average_jaccard, 1.0)));
    join->exact_is_cheaper = operators < clearly_cheaper * by_bands;
    operators = by_bands;
  }
  path->total_cost = path->startup_cost + operators * cpu_operator_cost + path->rows * cpu_tuple_cost;
}

void charge_hash_joins(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                       const SimilarityClause &clause, const JoinPathExtraData *extra) {
  ListCell *cell;
  foreach (cell, take_hash_joins(&joinrel->pathlist, outer, inner)) {
    charge_calls(root, lfirst_node(HashPath, cell), outer, inner, clause, extra->semifactors);
    add_path(joinrel, static_cast<Path *>(lfirst(cell)));
  }
  foreach (cell, take_hash_joins(&joinrel->partial_pathlist, outer, inner)) {
    charge_calls(root, lfirst_node(HashPath, cell), outer, inner, clause, extra->semifactors);
    add_partial_path(joinrel, static_cast<Path *>(lfirst(cell)));
  }
}

bool cost_call(SupportRequestCost *request) {
  if (request->node == nullptr) return false;
  List *args = NIL;
  if (IsA(request->node, FuncExpr)) args = castNode(FuncExpr, request->node)->args;
  if (IsA(request->node, OpExpr)) args = castNode(OpExpr, request->node)->args;
  double operators = operators_per_call;
  // Of the four arguments of a weighted measure, the second and the fourth are weights.
  const int step = list_length(args) == 4 ? 2 : 1;
  for (int i = 0; i < list_length(args); i += step) {
    auto *arg = static_cast<Node *>(list_nth(args, i));
    TokenType type;
    if (!token_type_of(exprType(arg), &type)) return false;
    operators += average_set_size(request->root, arg, type) *
                 (type == TokenType::text ? operators_per_call_text : operators_per_call_token);
  }
  request->startup = 0;
  request->per_tuple = operators * cpu_operator_cost;
  return args != NIL;
}

}  // namespace simjoin::pg
