// Groups of duplicates among the rows of a query, as an SQL function.
#include "pg/base/pg.hpp"

extern "C" {
#include "utils/builtins.h"
}

#include "core/base/memory_shares.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/computation_memory.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/named_arguments.hpp"
#include "pg/computation/engine.hpp"
#include "pg/functions/duplicate_grouping.hpp"
#include "pg/functions/join_functions.hpp"
#include "pg/functions/verdicts.hpp"
#include "pg/query/query_source.hpp"

namespace simjoin::pg {
namespace {

constexpr const char *groups_function = "duplicate_groups";

// A call of the function.
struct GroupsCall {
  const char *query;
  double threshold;
  RowMeasure measure;
  GroupingOptions options;
  KeyArgument key;
  const char *tokenizer;  // nullptr where the query returns sets
  const char *verdicts;   // a query, or nullptr
};

// Returns a join of the rows of the query with themselves, fed with the sets that are not copies of earlier
// ones. Where verdicts bind, it is fed with copies, too: a verdict may set them apart.
FunctionJoin *start_join_without_copies(const GroupsCall &call, GroupingWork **work) {
  FunctionJoin *join = create_function_join(groups_function, call.measure, true);
  join->left_key = call.key;
  join->tokenizer = call.tokenizer;
  join->in_order = call.options.keep_first_row;
  *work = create_grouping_work(call.options.grouping, join->context,
                               OidIsValid(call.key.type) && !is_id_type(call.key.type));
  const size_t limit = memory_limit_of(join->context);
  SetCopies *copies = nullptr;
  if (!call.options.judged)
    copies = call_cpp([&] {
      return &(*work)->copies.emplace(call.measure.measure, call.threshold, row_share(limit),
                                      (*work)->memory);
    });
  create_function_engine(join, call.threshold);
  join->left = read_side(join, Side::left, call.query, KeyNumbers::distinct, copies);
  if (copies != nullptr)
    call_cpp([&] {
      copies->finish();
      if (call.measure.by_rarity)
        copies->visit_copies([join](uint32_t row, uint32_t more) { join->engine->add_copies(row, more); });
    });
  check_distinct_ids(join->left, groups_function);
  return join;
}

void add_batch(const FunctionJoin &join, GroupingWork *work) {
  const Batch &batch = *join.batch;
  for (size_t i = 0; i < batch.size(); ++i) {
    const uint32_t a = batch.left[i], b = batch.right[i];
    if (work->copies)
      work->add_pair(work->copies->joined_row(a), work->copies->joined_row(b), pair_similarity(join, i));
    else
      work->add_pair(a, b, pair_similarity(join, i));
  }
}

void add_pairs(FunctionJoin *join, GroupingWork *work) {
  while (next_batch(join->engine, &join->spill_file, join->batch)) call_cpp([&] { add_batch(*join, work); });
}

GroupingOptions options_of(const NamedArguments &arguments) {
  return grouping_options(arguments.string("method"), arguments.string("keep"),
                          arguments.real("max_group_share"), !arguments.is_null("verdicts"), groups_function);
}

GroupsCall call_with(const NamedArguments &arguments, const ResultRows &result) {
  return {arguments.string("query"),
          arguments.real("threshold"),
          symmetric_row_measure_by_name(arguments.string("measure"), groups_function),
          options_of(arguments),
          key_argument(arguments, "key", result.column_type(0)),
          arguments.optional_string("tokens"),
          arguments.optional_string("verdicts")};
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_duplicate_groups);
Datum simjoin_duplicate_groups(PG_FUNCTION_ARGS) {
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null(groups_function, {"key", "verdicts"});
  const GroupsCall call = call_with(arguments, result);
  check_similarity(call.threshold, call.measure, groups_function);
  GroupingWork *work;
  FunctionJoin *join = start_join_without_copies(call, &work);
  RowGrouping *grouping = start_grouping(call.options, work, join->left.ids.data(), join->left.count(),
                                         groups_function, join->context, join->left.keys);
  if (call.options.judged) add_verdicts(read_verdicts(call.verdicts, *grouping), grouping);
  add_pairs(join, work);
  form_groups(grouping, grouping->rows);
  if (call.options.judged) report_verdicts(*grouping);
  return_groups(*grouping, &result);
  end_join(join);
  return 0;
}
}

}  // namespace simjoin::pg
