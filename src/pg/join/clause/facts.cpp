#include "pg/join/clause/facts.hpp"

extern "C" {
#include "nodes/value.h"
}

#include <type_traits>

#include "pg/base/arguments.hpp"

namespace simjoin::pg {
namespace {

constexpr int values_of_column = 2, values_of_key = 5;

// Calls visit(field) for each field, in the order in which they are encoded.
template <class Facts, class Visit>
void for_each_fact(Facts &facts, Visit visit) {
  visit(facts.jointype);
  visit(facts.read_once);
  visit(facts.skip_same_row);
  visit(facts.one_way);
  visit(facts.from_settings);
  visit(facts.implied);
  visit(facts.ranked);
  visit(facts.measure);
  visit(facts.distance);
  visit(facts.strict);
  visit(facts.token_type);
  for (auto &column : facts.set_column) visit(column);
  for (auto &column : facts.weights_column) visit(column);
  visit(facts.smaller);
  visit(facts.exact_is_cheaper);
}

}  // namespace

const char *clause_function(const JoinPlanFacts &facts) {
  if (facts.from_settings) return "sets_similar";
  if (facts.weighted()) return weighted_function(facts.measure);
  return facts.distance ? "jaccard_distance" : measure_function(facts.measure);
}

List *encode_join(const JoinPlanFacts &facts, List *columns, List *keys, const JoinChoice &choice) {
  List *encoded = NIL;
  for_each_fact(facts, [&](auto fact) { encoded = lappend_int(encoded, static_cast<int>(fact)); });
  List *chosen = choice.candidates;
  if (choice.why_not != nullptr) chosen = list_make1(makeString(pstrdup(choice.why_not)));
  return list_make4(encoded, columns, keys, chosen);
}

List *append_column(List *columns, JoinColumn column) {
  return lappend_int(lappend_int(columns, static_cast<int>(column.source)), column.child_column);
}

List *append_key(List *keys, const JoinKey &key) {
  for (Oid value : {static_cast<Oid>(key.column[0]), static_cast<Oid>(key.column[1]), key.hash_function[0],
                    key.hash_function[1], key.collation})
    keys = lappend_oid(keys, value);
  return keys;
}

JoinPlanFacts read_plan(const CustomScan *plan, JoinColumn **columns) {
  auto *encoded = static_cast<List *>(linitial(plan->custom_private));
  auto *sources = static_cast<List *>(lsecond(plan->custom_private));
  const int count = list_length(sources) / values_of_column;
  *columns = static_cast<JoinColumn *>(palloc(sizeof(JoinColumn) * Max(count, 1)));
  for (int i = 0; i < count; ++i)
    (*columns)[i] = {static_cast<ColumnSource>(list_nth_int(sources, values_of_column * i)),
                     static_cast<AttrNumber>(list_nth_int(sources, values_of_column * i + 1))};
  JoinPlanFacts facts = {};
  int place = 0;
  for_each_fact(facts, [&](auto &fact) {
    fact = static_cast<std::remove_reference_t<decltype(fact)>>(list_nth_int(encoded, place++));
  });
  return facts;
}

JoinKey *read_partition_keys(const CustomScan *plan, int *count) {
  auto *encoded = static_cast<List *>(lthird(plan->custom_private));
  *count = list_length(encoded) / values_of_key;
  auto *keys = static_cast<JoinKey *>(palloc(sizeof(JoinKey) * Max(*count, 1)));
  for (int i = 0; i < *count; ++i) {
    auto get = [&](int field) { return list_nth_oid(encoded, values_of_key * i + field); };
    keys[i] = {{static_cast<AttrNumber>(get(0)), static_cast<AttrNumber>(get(1))}, {get(2), get(3)}, get(4)};
  }
  return keys;
}

JoinChoice read_choice(const CustomScan *plan) {
  auto *chosen = static_cast<List *>(lfourth(plan->custom_private));
  if (chosen != NIL && IsA(linitial(chosen), String)) return {NIL, strVal(linitial(chosen))};
  return {chosen, nullptr};
}

Node *plan_expression(const CustomScan *plan, JoinExpr which) {
  return static_cast<Node *>(list_nth(plan->custom_exprs, static_cast<int>(which)));
}

}  // namespace simjoin::pg
