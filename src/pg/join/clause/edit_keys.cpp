// Expressions that make the keys of edit distances.
#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/primnodes.h"
}

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "core/text/edit_keys.hpp"
#include "pg/base/bound_symbol.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/errors.hpp"
#include "pg/join/clause/edits.hpp"
#include "pg/join/clause/sums.hpp"

namespace simjoin::pg {
namespace {

// A function that makes keys of a text, for a number of edits or for a similarity.
struct KeyMaker {
  std::string_view symbol;
  bool by_similarity;
  bool levenshtein;  // an array with NULL for a long text
};
constexpr KeyMaker key_makers[] = {{"simjoin_edit_keys", false, false},
                                   {"simjoin_levenshtein_keys", false, true},
                                   {"simjoin_edit_similarity_keys", true, false},
                                   {"simjoin_levenshtein_similarity_keys", true, true}};

// Returns the function that the expression makes keys by, and its bound if that is a constant. NULL for other
// expressions.
const KeyMaker *key_maker_of(Node *expr, double *bound) {
  if (!IsA(expr, FuncExpr)) return nullptr;
  auto *call = castNode(FuncExpr, expr);
  const KeyMaker *maker = entry_of_symbol(key_makers, bound_symbol(call->funcid));
  if (maker == nullptr || list_length(call->args) != 2) return nullptr;
  return constant_value(static_cast<Node *>(lsecond(call->args)), bound) ? maker : nullptr;
}

}  // namespace

bool count_edit_keys(Node *keys, int32 length, double *count) {
  double bound;
  const KeyMaker *maker = key_maker_of(keys, &bound);
  if (maker == nullptr) return false;
  *count = call_cpp([&] {
    // Characters that repeat rarely, as those of most texts do.
    std::vector<uint8_t> text(static_cast<size_t>(length));
    for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<uint8_t>('0' + i % 64);
    const std::span<const uint8_t> characters(text);
    std::vector<int32_t> made;
    if (maker->by_similarity)
      add_edit_similarity_keys(characters, bound, &made);
    else
      add_edit_keys(characters, static_cast<int32_t>(std::clamp(bound, -1.0, most_edits + 1.0)), &made);
    return static_cast<double>(made.size());
  });
  return true;
}

bool take_indexed_keys(Node *indexed, SimilarityClause *keys, const char **serves) {
  if (!keys->of_edits) return false;
  double served, wanted;
  const KeyMaker *maker = key_maker_of(indexed, &served);
  const KeyMaker *clause_maker = key_maker_of(reinterpret_cast<Node *>(keys->left), &wanted);
  if (maker == nullptr || clause_maker == nullptr || maker->levenshtein ||
      maker->by_similarity != clause_maker->by_similarity ||
      !compat::may_execute(castNode(FuncExpr, indexed)->funcid))
    return false;
  if (maker->by_similarity ? wanted < served : wanted > served) {
    *serves = psprintf(maker->by_similarity ? "similarities from %g on" : "distances up to %g", served);
    return false;
  }
  auto indexed_keys_of = [&](Expr *side) {
    auto *call = static_cast<FuncExpr *>(copyObjectImpl(indexed));
    lfirst(list_head(call->args)) = linitial(castNode(FuncExpr, side)->args);
    return reinterpret_cast<Expr *>(call);
  };
  keys->left = indexed_keys_of(keys->left);
  keys->right = indexed_keys_of(keys->right);
  return true;
}

}  // namespace simjoin::pg
