#include "pg/index/index_path.hpp"

extern "C" {
#include "access/genam.h"
#include "access/gin.h"
#include "catalog/pg_am.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/spccache.h"
#include "utils/syscache.h"
}

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "pg/base/bound_symbol.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/explain_notes.hpp"
#include "pg/index/index_options.hpp"
#include "pg/index/nearest.hpp"
#include "pg/join/clause/edits.hpp"
#include "pg/join/clause/implied.hpp"
#include "pg/join/clause/match.hpp"
#include "pg/join/estimate/selectivity.hpp"
#include "pg/join/estimate/set_statistics.hpp"

namespace simjoin::pg {
namespace {

// Looking through a page of GIN's pending list, in simple operators.
constexpr double operators_per_pending_page = 500;

// Finding an entry in an index that is in memory, in simple operators: about a microsecond.
constexpr double operators_per_entry = 60;

// Larger sets than this are planned as sets of this size.
constexpr double largest_planned_set = 4096;

set_rel_pathlist_hook_type previous_scan_hook = nullptr;

// The look-up of a set in an index.
struct PlannedLookup {
  bool served;     // whether the index has the entries for it
  double entries;  // that are looked up
  // Among sets of about the same size: the share of its codes that are looked up, the share of a set's codes
  // that the index has, and the fewest of the entries looked up that a row must have to be read.
  double probed;
  double indexed;
  double least;
};

PlannedLookup plan_lookup(const Bounds &indexed, const Bounds &wanted, double set_size) {
  const auto tokens = static_cast<int64_t>(std::clamp(std::rint(set_size), 1.0, largest_planned_set));
  const auto size = static_cast<double>(tokens);
  return call_cpp([&] {
    const std::vector<TokenKey> keys(std::min(static_cast<size_t>(tokens), most_looked_up));
    TokenOrder order = TokenOrder::by_prints({}, indexed);
    const int64_t prefix = order.prefix_length(tokens);
    const IndexLookup lookup = order.lookup({tokens, keys}, wanted);
    PlannedLookup planned = {lookup.kind != IndexLookup::Kind::everything,
                             static_cast<double>(lookup.entries.size()), 0,
                             static_cast<double>(prefix) / size, 1};
    if (lookup.classes.empty()) return planned;
    const IndexLookup::SizeClass &middle = lookup.classes[lookup.classes.size() / 2];
    planned.probed = static_cast<double>(middle.entries) / size;
    planned.least = middle.least;
    return planned;
  });
}

// Returns the share of the sets that have enough of the entries by chance. The number of tokens that two sets
// share is about Poisson-distributed.
double chance_share(const PlannedLookup &lookup, double shared_tokens) {
  const double mean = shared_tokens * lookup.probed * lookup.indexed;
  return Min(std::pow(mean, lookup.least) / std::tgamma(lookup.least + 1), 1.0);
}

// Returns the same for other tokens that have the same entries, where entries have few bits.
double mistaken_share(const PlannedLookup &lookup, double set_size, int bits) {
  if (bits == most_entry_bits) return 0;
  const double mean = lookup.entries * lookup.indexed * set_size / std::ldexp(1.0, bits);
  return Min(std::pow(mean, lookup.least) / std::tgamma(lookup.least + 1), 1.0);
}

bool same_for_all_rows(PlannerInfo *root, RelOptInfo *rel, Expr *expr) {
  auto *node = reinterpret_cast<Node *>(expr);
  return !bms_is_member(static_cast<int>(rel->relid), pull_varnos(root, node)) &&
         !contain_volatile_functions(node);
}

// Returns how often the scan is started: once for each row of the smallest of the relations that it takes
// values of.
double count_loops(PlannerInfo *root, Relids outer) {
  double loops = 0;
  for (int relid = -1; (relid = bms_next_member(outer, relid)) >= 0;) {
    if (relid >= root->simple_rel_array_size || root->simple_rel_array[relid] == nullptr) continue;
    const double rows = root->simple_rel_array[relid]->rows;
    if (rows > 0) loops = loops == 0 ? rows : Min(loops, rows);
  }
  return Max(loops, 1.0);
}

// Returns the pages of new rows that GIN has not sorted in yet. Each scan reads them.
double pending_pages(const IndexOptInfo *index) {
  if (index->hypothetical) return 0;
  GinStatsData statistics;
  Relation relation = index_open(index->indexoid, NoLock);  // the planner has locked it
  ginGetStats(relation, &statistics);
  index_close(relation, NoLock);
  return statistics.nPendingPages;
}

// Replaces PostgreSQL's estimates for the scan of the index, which do not know our operator.
void estimate_scan(PlannerInfo *root, IndexPath *path, const PlannedLookup &lookup, double chance,
                   double similar_share, double loops) {
  const IndexOptInfo *index = path->indexinfo;
  const double pages = index_pages_fetched(lookup.entries * loops, index->pages, index->pages, root) / loops;
  double page_cost;
  get_tablespace_page_costs(index->reltablespace, &page_cost, nullptr);
  const double pending = pending_pages(index);
  const double operators = lookup.entries * operators_per_entry + pending * operators_per_pending_page;
  path->indextotalcost = (pages + pending) * page_cost + operators * cpu_operator_cost;
  path->indexselectivity = Min(similar_share + chance, 1.0);
}

// Returns the expression that is a column of the index, NULL where that is a column of the table.
Node *indexed_expression(const SetColumn &column) {
  const IndexOptInfo *index = column.index;
  if (index->indexkeys[column.number] != 0) return nullptr;
  int place = 0;
  for (int i = 0; i < column.number; ++i) place += index->indexkeys[i] == 0 ? 1 : 0;
  return static_cast<Node *>(list_nth(index->indexprs, place));
}

// Returns the measure that an index is asked for: of the set that is looked up and those of the index. One
// with `measure` of the sets of the index and that set is among what it finds. The clause then filters.
Measure looked_up(Measure measure) {
  return measure == Measure::reverse_containment ? Measure::containment : unordered(measure);
}

// Notes, if a query is being explained with VERBOSE, that the index does not serve a clause, and what it
// serves.
void note_unused_index(Oid index, const char *serves) {
  if (explaining_verbosely())
    add_explain_note(psprintf("Index Not Used: %s serves %s", get_rel_name(index), serves));
}

const char *bounds_text(const Bounds &bounds) {
  return psprintf("%s from %g on", measure_names[static_cast<int>(bounds.measure())].data(),
                  bounds.threshold());
}

// Returns whether both expressions make keys of the same text.
bool are_of_same_text(Node *keys, Expr *others) {
  return IsA(others, FuncExpr) &&
         equal(linitial(castNode(FuncExpr, keys)->args), linitial(castNode(FuncExpr, others)->args));
}

// Lets the clause be one of the keys of the column. Returns false where the column has none that find its
// texts.
bool take_keys_of_column(const SetColumn &column, SimilarityClause *clause) {
  Node *indexed = indexed_expression(column);
  const char *serves = nullptr;
  if (indexed == nullptr || take_indexed_keys(indexed, clause, &serves)) return indexed != nullptr;
  if (serves != nullptr &&
      (are_of_same_text(indexed, clause->left) || are_of_same_text(indexed, clause->right)))
    note_unused_index(column.index->indexoid, serves);
  return false;
}

// A similarity clause between a column of an index and an expression without columns of its relation. The
// column is then on the left.
bool match_search(PlannerInfo *root, RelOptInfo *rel, const SetColumn &column, SimilarityClause *clause) {
  if (clause->of_edits && !take_keys_of_column(column, clause)) return false;
  const Expr *left = clause->left;
  if (!match_column(root, rel, column, &clause->left, &clause->right)) return false;
  if (clause->left != left) clause->measure = reversed(clause->measure);
  return same_for_all_rows(root, rel, clause->threshold);
}

// Offers a scan for the condition, by a clause that it is or implies.
void offer_scan(PlannerInfo *root, RelOptInfo *rel, const SetColumn &column, RestrictInfo *rinfo,
                SimilarityClause clause) {
  if (!match_search(root, rel, column, &clause)) return;
  const char *measure = clause.distance ? "jaccard_distance" : measure_name(looked_up(clause.measure)).data();
  auto *set = reinterpret_cast<Node *>(clause.right);
  Node *query = make_query(column, set, reinterpret_cast<Node *>(clause.threshold), measure);
  if (query == nullptr) return;
  Relids outer = bms_union(rel->lateral_relids, rinfo->clause_relids);
  outer = bms_del_member(outer, static_cast<int>(rel->relid));
  if (bms_is_empty(outer)) outer = nullptr;
  const Bounds bounds = planned_bounds(clause);
  Path *path = make_index_scan(root, rel, column, rinfo, reinterpret_cast<Node *>(clause.left), query,
                               {looked_up(bounds.measure()), bounds.threshold()}, outer);
  if (path != nullptr) add_path(rel, path);
}

// Offers scans for a condition.
void offer_scans(PlannerInfo *root, RelOptInfo *rel, const SetColumn &column, RestrictInfo *rinfo) {
  if (!restriction_is_securely_promotable(rinfo, rel)) return;
  SimilarityClause clause;
  if (describe_search_clause(rinfo, &clause)) return offer_scan(root, rel, column, rinfo, clause);
  ListCell *cell;
  foreach (cell, implied_clauses(root, rinfo))
    offer_scan(root, rel, column, rinfo, *static_cast<const SimilarityClause *>(lfirst(cell)));
}

void rel_pathlist_hook(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte) {
  if (previous_scan_hook != nullptr) previous_scan_hook(root, rel, rti, rte);
  // An index has all rows of a table, and a sample some.
  if (!IS_SIMPLE_REL(rel) || !enable_bitmapscan || rte->tablesample != nullptr || IS_DUMMY_REL(rel)) return;
  ListCell *cell, *clause;
  foreach (cell, rel->indexlist) {
    auto *index = lfirst_node(IndexOptInfo, cell);
    for (int number = 0; number < index->nkeycolumns; ++number) {
      SetColumn column;
      if (!describe_set_column(index, number, &column)) continue;
      offer_nearest(root, rel, column);
      foreach (clause, rel->baserestrictinfo)
        offer_scans(root, rel, column, lfirst_node(RestrictInfo, clause));
      foreach (clause, rel->joininfo)
        if (join_clause_is_movable_to(lfirst_node(RestrictInfo, clause), rel))
          offer_scans(root, rel, column, lfirst_node(RestrictInfo, clause));
    }
  }
}

}  // namespace

bool match_column(PlannerInfo *root, RelOptInfo *rel, const SetColumn &column, Expr **set, Expr **other) {
  for (int order = 0; order < 2; ++order) {
    if (match_index_to_operand(reinterpret_cast<Node *>(*set), column.number, column.index))
      return same_for_all_rows(root, rel, *other);
    std::swap(*set, *other);
  }
  return false;
}

void install_index_hook() {
  previous_scan_hook = set_rel_pathlist_hook;
  set_rel_pathlist_hook = rel_pathlist_hook;
  register_nearest_methods();
}

bool describe_set_column(IndexOptInfo *index, int number, SetColumn *column) {
  // The index of a partitioned table (from PostgreSQL 16 on) has no scans, nor have those of some kinds of
  // tables.
  if (index->relam != GIN_AM_OID || !index->amhasgetbitmap || (index->indpred != NIL && !index->predOK))
    return false;
  const Oid family = index->opfamily[number], type = index->opcintype[number];
  const Oid extract = get_opfamily_proc(family, type, type, GIN_EXTRACTQUERY_PROC);
  if (!is_of_set_class(extract)) return false;
  Oid *arguments;
  int count;
  get_func_signature(extract, &arguments, &count);
  const Oid query = arguments[0], schema = get_func_namespace(extract);
  const Oid op = get_opfamily_member(family, type, query, 1);
  *column = {index,
             number,
             op,
             query,
             find_function(schema, "similarity_query_of_clause", {ANYARRAYOID, FLOAT8OID, TEXTOID}, query),
             find_function(schema, "similarity_query", {ANYARRAYOID}, query),
             find_function(schema, "similarity_query_nearest", {ANYARRAYOID}, query)};
  return OidIsValid(op) && compat::may_execute(get_opcode(op));
}

Node *make_query(const SetColumn &column, Node *set, Node *threshold, const char *measure) {
  if (threshold == nullptr) {  // of ~=
    if (!OidIsValid(column.make_from_settings)) return nullptr;
    return reinterpret_cast<Node *>(makeFuncExpr(column.make_from_settings, column.query, list_make1(set),
                                                 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL));
  }
  Node *number = coerce_to_target_type(nullptr, threshold, exprType(threshold), FLOAT8OID, -1,
                                       COERCION_ASSIGNMENT, COERCE_IMPLICIT_CAST, -1);
  if (number == nullptr || !OidIsValid(column.make)) return nullptr;
  Const *name = makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1, CStringGetTextDatum(measure), false, false);
  return reinterpret_cast<Node *>(makeFuncExpr(column.make, column.query, list_make3(set, number, name),
                                               InvalidOid, DEFAULT_COLLATION_OID, COERCE_EXPLICIT_CALL));
}

Path *make_index_scan(PlannerInfo *root, RelOptInfo *rel, const SetColumn &column, RestrictInfo *clause,
                      Node *set, Node *query, const Bounds &bounds, Relids outer) {
  if (!(bounds.threshold() > 0)) return nullptr;
  IndexOptInfo *index = column.index;
  TokenType type;
  if (!token_type_of(exprType(set), &type)) return nullptr;
  SetShape shape = set_shape(root, set, type);
  // A set that is looked up for containment may be much smaller than those of the index.
  if (bounds.measure() == Measure::containment) {
    auto *sought = static_cast<Node *>(linitial(castNode(FuncExpr, query)->args));
    const double size = Min(average_set_size(root, sought, type), shape.average_size);
    shape.shared_tokens *= size / Max(shape.average_size, 1.0);
    shape.average_size = size;
  }
  const bytea *options = index->opclassoptions == nullptr ? nullptr : index->opclassoptions[column.number];
  const PlannedLookup lookup = plan_lookup(indexed_bounds(options), bounds, shape.average_size);
  if (!lookup.served) {
    if (clause != nullptr) note_unused_index(index->indexoid, bounds_text(indexed_bounds(options)));
    return nullptr;
  }

  Expr *condition = make_opclause(column.op, BOOLOID, false, static_cast<Expr *>(copyObjectImpl(set)),
                                  reinterpret_cast<Expr *>(query), InvalidOid, InvalidOid);
  set_opfuncid(castNode(OpExpr, condition));
  IndexClause *index_clause = makeNode(IndexClause);
  RestrictInfo *restriction = make_simple_restrictinfo(root, condition);
  index_clause->rinfo = clause != nullptr ? clause : restriction;
  index_clause->indexquals = list_make1(restriction);
  index_clause->lossy = true;
  index_clause->indexcol = static_cast<AttrNumber>(column.number);
  const double loops = count_loops(root, outer);
  IndexPath *path = create_index_path(root, index, list_make1(index_clause), NIL, NIL, NIL,
                                      ForwardScanDirection, false, outer, loops, false);
  const double similar = clause != nullptr && clause->norm_selec >= 0 ? Min(clause->norm_selec, 1.0) : 0;
  // Sets that share a token are what a clause for one token in common asks for.
  const bool one_token = bounds.measure() == Measure::overlap && bounds.threshold() <= 1 && clause != nullptr;
  const double chance = (one_token ? 0 : chance_share(lookup, shape.shared_tokens)) +
                        mistaken_share(lookup, shape.average_size, entry_bits(options));
  estimate_scan(root, path, lookup, chance, similar, loops);
  if (outer != nullptr)
    path->path.param_info->ppi_rows =
        clamp_row_est(Min(path->path.param_info->ppi_rows, rel->rows * similar));
  auto *scan = reinterpret_cast<Path *>(create_bitmap_heap_path(root, rel, &path->path, outer, loops, 0));
  if (clause == nullptr) scan->rows = clamp_row_est(rel->rows * path->indexselectivity);
  return scan;
}

}  // namespace simjoin::pg
