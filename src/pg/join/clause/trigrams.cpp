#include "pg/join/clause/trigrams.hpp"

extern "C" {
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
}

#include <string_view>
#include <utility>

#include "pg/base/arguments.hpp"
#include "pg/base/bound_symbol.hpp"
#include "pg/base/compat.hpp"
#include "pg/join/clause/expressions.hpp"

namespace simjoin::pg {
namespace {

constexpr char trigram_library[] = "pg_trgm";
constexpr char similarity_setting[] = "pg_trgm.similarity_threshold";
constexpr char word_setting[] = "pg_trgm.word_similarity_threshold";
constexpr char strict_word_setting[] = "pg_trgm.strict_word_similarity_threshold";

// A C function of pg_trgm. `commuted` ones compare their second text with their first one.
struct TrigramFunction {
  std::string_view symbol;
  TrigramResult result;
  Measure measure;
  bool commuted;
  const char *setting;
};
constexpr TrigramFunction trigram_functions[] = {
    {"similarity", TrigramResult::similarity, Measure::jaccard, false, nullptr},
    {"similarity_dist", TrigramResult::distance, Measure::jaccard, false, nullptr},
    {"similarity_op", TrigramResult::reaches_setting, Measure::jaccard, false, similarity_setting},
    {"word_similarity", TrigramResult::similarity, Measure::containment, false, nullptr},
    {"word_similarity_op", TrigramResult::reaches_setting, Measure::containment, false, word_setting},
    {"word_similarity_commutator_op", TrigramResult::reaches_setting, Measure::containment, true,
     word_setting},
    {"word_similarity_dist_op", TrigramResult::distance, Measure::containment, false, nullptr},
    {"word_similarity_dist_commutator_op", TrigramResult::distance, Measure::containment, true, nullptr},
    {"strict_word_similarity", TrigramResult::similarity, Measure::containment, false, nullptr},
    {"strict_word_similarity_op", TrigramResult::reaches_setting, Measure::containment, false,
     strict_word_setting},
    {"strict_word_similarity_commutator_op", TrigramResult::reaches_setting, Measure::containment, true,
     strict_word_setting},
    {"strict_word_similarity_dist_op", TrigramResult::distance, Measure::containment, false, nullptr},
    {"strict_word_similarity_dist_commutator_op", TrigramResult::distance, Measure::containment, true,
     nullptr},
};

// Returns the description of the function, NULL for others than pg_trgm's.
const TrigramFunction *trigram_function(Oid function) {
  return entry_of_symbol(trigram_functions, symbol_of_library(function, trigram_library));
}

// The functions that make and compare sets of trigrams: pg_trgm's, and ours.
struct SetFunctions {
  Oid show;     // the trigrams of a text
  Oid set;      // the set of integers that stands for them
  Oid measure;  // of two such sets
};

// Finds the functions beside one of pg_trgm. Returns false where one is missing, is not what it is to be, or
// may not be executed.
bool find_set_functions(Oid beside, Measure measure, SetFunctions *functions) {
  const Oid schema = extension_schema("simjoin");
  if (!OidIsValid(schema)) return false;
  functions->show = find_function(get_func_namespace(beside), "show_trgm", {TEXTOID}, TEXTARRAYOID);
  functions->set = find_function(schema, "trigram_set", {TEXTARRAYOID}, INT4ARRAYOID);
  functions->measure =
      find_function(schema, measure_function(measure), {INT4ARRAYOID, INT4ARRAYOID}, FLOAT8OID);
  if (!OidIsValid(functions->show) || !OidIsValid(functions->set) || !OidIsValid(functions->measure))
    return false;
  char *symbol = symbol_of_library(functions->show, trigram_library);
  return symbol != nullptr && std::string_view(symbol) == "show_trgm";
}

}  // namespace

bool describe_trigram_call(Node *expr, TrigramCall *call) {
  const Oid function = called_function(expr), type = exprType(expr), collation = exprInputCollation(expr);
  if (!OidIsValid(function) || (type != FLOAT4OID && type != BOOLOID)) return false;
  List *texts = call_arguments(reinterpret_cast<Expr *>(expr));
  const TrigramFunction *known = trigram_function(function);
  SetFunctions functions;
  if (list_length(texts) != 2) return false;
  if (known == nullptr || !find_set_functions(function, known->measure, &functions)) return false;
  auto set_of = [&](void *text) {
    auto *trigrams = makeFuncExpr(functions.show, TEXTARRAYOID, list_make1(text), collation, collation,
                                  COERCE_EXPLICIT_CALL);
    return call_function(functions.set, INT4ARRAYOID, list_make1(trigrams), collation);
  };
  Expr *left = set_of(linitial(texts)), *right = set_of(lsecond(texts));
  if (known->commuted) std::swap(left, right);
  call->function = function;
  call->result = known->result;
  call->setting = known->setting;
  call->sets = {};
  call->sets.measure = known->measure;
  call->sets.left = left;
  call->sets.right = right;
  call->sets.call = call_function(functions.measure, FLOAT8OID, list_make2(left, right), InvalidOid);
  return true;
}

bool can_join_by_trigrams(Oid schema) {
  const Oid similarity = find_function(schema, "similarity", {TEXTOID, TEXTOID}, FLOAT4OID);
  SetFunctions functions;
  return OidIsValid(similarity) && trigram_function(similarity) != nullptr &&
         find_set_functions(similarity, Measure::jaccard, &functions);
}

Expr *trigram_setting(const TrigramCall &call) {
  if (!compat::may_execute(F_CURRENT_SETTING_TEXT)) return nullptr;
  FmgrInfo loaded;
  fmgr_info(call.function, &loaded);
  Const *name =
      makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1, CStringGetTextDatum(call.setting), false, false);
  auto *cast = makeNode(CoerceViaIO);
  cast->arg = call_function(F_CURRENT_SETTING_TEXT, TEXTOID, list_make1(name), DEFAULT_COLLATION_OID);
  cast->resulttype = FLOAT8OID;
  cast->coerceformat = COERCE_EXPLICIT_CAST;
  cast->location = -1;
  return reinterpret_cast<Expr *>(cast);
}

}  // namespace simjoin::pg
