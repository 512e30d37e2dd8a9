// Orders by edit distances and similarities by Jaro in the planner.
#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
}

#include "core/nearest/text_index.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/compat_paths.hpp"
#include "pg/join/clause/edits.hpp"
#include "pg/join/clause/jaro.hpp"
#include "pg/join/clause/sums.hpp"
#include "pg/nearest/path.hpp"
#include "pg/nearest/texts.hpp"

namespace simjoin::pg {
namespace {

// Cost constants, in calls of a simple operator (15 ns).
constexpr double operators_per_indexed_text = 60;
constexpr double operators_per_text_search = 500;
constexpr double operators_per_text = 0.3;           // of the key, where it has no near one
constexpr double operators_per_counted_text = 0.05;  // where a bound leaves out most of them

// What is assumed of texts without statistics.
constexpr double usual_width = 32;

struct DescribedTexts {
  Expr *first, *second;
  TextFacts facts;
};

bool describe_jaro(Node *expr, DescribedTexts *texts) {
  SimilarityClause keys;
  const JaroKind kind = describe_jaro_call(expr, &keys);
  if (kind == JaroKind::none) return false;
  List *arguments = castNode(FuncExpr, expr)->args;
  texts->first = static_cast<Expr *>(linitial(arguments));
  texts->second = static_cast<Expr *>(lsecond(arguments));
  texts->facts.order.measure = kind == JaroKind::jaro ? TextMeasure::jaro : TextMeasure::jaro_winkler;
  return true;
}

bool describe_edits(Node *expr, DescribedTexts *texts) {
  EditMeasure measure;
  if (!describe_edit_measure(expr, &measure)) return false;
  texts->first = measure.first;
  texts->second = measure.second;
  TextFacts *facts = &texts->facts;
  facts->order.measure = measure.damerau ? TextMeasure::damerau : TextMeasure::edits;
  facts->order.share = measure.share;
  facts->order.empty_pairs = !measure.share || measure.of_empty != EditMeasure::EmptyTexts::null;
  facts->levenshtein = measure.levenshtein;
  facts->refuses_empty = measure.share && measure.of_empty == EditMeasure::EmptyTexts::error;
  return true;
}

// Returns the share of edits that the expression subtracts from 1, NULL for other expressions.
Node *share_of_similarity(Node *expr) {
  const Oid function = called_function(expr);
  if (function != F_FLOAT8MI && function != F_NUMERIC_SUB) return nullptr;
  List *sides = call_arguments(reinterpret_cast<Expr *>(expr));
  double value;
  if (!constant_value(static_cast<Node *>(linitial(sides)), &value) || value != 1) return nullptr;
  auto *share = static_cast<Node *>(lsecond(sides));
  return exprType(share) == exprType(expr) ? share : nullptr;
}

// Describes the texts of an expression that is compared. `ascending`: nearer texts come first.
bool describe_texts(Node *expr, DescribedTexts *texts, bool *ascending) {
  *texts = {};
  texts->facts.used = true;
  *ascending = true;
  if (describe_edits(expr, texts)) return true;
  *ascending = false;
  if (describe_jaro(expr, texts)) return true;
  Node *share = share_of_similarity(expr);
  return share != nullptr && describe_edits(share, texts) && texts->facts.order.share;
}

// Wraps the columns of an expression, so that no part of it with a column is equal to another expression.
Node *with_wrapped_columns(Node *expr, void *context) {
  if (expr == nullptr) return nullptr;
  if (IsA(expr, Var) || IsA(expr, PlaceHolderVar))
    return reinterpret_cast<Node *>(makeRelabelType(reinterpret_cast<Expr *>(expr), exprType(expr),
                                                    exprTypmod(expr), exprCollation(expr),
                                                    COERCE_IMPLICIT_CAST));
  return compat::mutate_children(expr, with_wrapped_columns, context);
}

}  // namespace

bool describe_text_order(PlannerInfo *root, RelOptInfo *rel, const PathKey *key, SimilarityOrder *order) {
  Expr *expr = usual_sort_expression(rel, key);
  DescribedTexts texts;
  bool ascending;
  if (expr == nullptr || !describe_texts(reinterpret_cast<Node *>(expr), &texts, &ascending) ||
      compat::ascends(key) != ascending)
    return false;
  *order = {};
  bool swapped;
  if (!take_sides(root, rel, texts.first, texts.second, order, &swapped)) return false;
  order->call = expr;
  order->distance = ascending;
  order->nulls_first = key->pk_nulls_first;
  order->texts = texts.facts;
  order->texts.order.probe_first = !swapped;
  return true;
}

Expr *bound_of_text_order(const SimilarityOrder &order, RestrictInfo *condition) {
  Node *greater, *lesser;
  if (!describe_order(reinterpret_cast<Node *>(condition->clause), &greater, &lesser)) return nullptr;
  Node *value = order.distance ? lesser : greater, *bound = order.distance ? greater : lesser;
  if (!equal(value, order.call) || !is_bound_of_row(reinterpret_cast<Expr *>(bound))) return nullptr;
  switch (exprType(bound)) {
    case INT4OID:
    case INT8OID:
    case FLOAT8OID:
      return reinterpret_cast<Expr *>(bound);
    default:
      return nullptr;
  }
}

Expr *value_of_text_order(const SimilarityOrder &order) {
  if (!order.texts.used) return nullptr;
  return reinterpret_cast<Expr *>(with_wrapped_columns(reinterpret_cast<Node *>(order.call), nullptr));
}

IndexCosts costs_of_texts(PlannerInfo *root, const RelOptInfo *rel, const NearestRowsPath *nearest,
                          double rows, double of_key) {
  auto *text = reinterpret_cast<Node *>(nearest->order.set);
  while (IsA(text, RelabelType)) text = reinterpret_cast<Node *>(castNode(RelabelType, text)->arg);
  double width = 0;
  if (IsA(text, Var))
    width = get_attavgwidth(planner_rt_fetch(rel->relid, root)->relid, castNode(Var, text)->varattno);
  if (width <= 0) width = usual_width;
  IndexCosts costs;
  costs.index = rows * (operators_per_indexed_text + width);
  costs.search = operators_per_text_search + width;
  costs.search += of_key * (nearest->bound == nullptr ? operators_per_text : operators_per_counted_text);
  constexpr double representable = 1e17;
  costs.bytes = rows * width > representable
                    ? representable
                    : static_cast<double>(TextIndex::bytes_of(static_cast<uint64_t>(rows),
                                                              static_cast<uint64_t>(rows * width)));
  return costs;
}

}  // namespace simjoin::pg
