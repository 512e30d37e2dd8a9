// Groups of duplicates among the rows of a query, as an SQL function.
#include "pg/pg.hpp"

#include "pg/compat.hpp"
#include "pg/duplicate_grouping.hpp"
#include "pg/engine.hpp"
#include "pg/errors.hpp"
#include "pg/join_functions.hpp"
#include "pg/query_receiver.hpp"
#include "pg/settings.hpp"

namespace simjoin::pg {
namespace {

// The arguments of duplicate_groups, in order.
enum Argument { Arg_query, Arg_threshold, Arg_measure, Arg_method, Arg_keep, Arg_max_group_share };

void add_pairs(FunctionJoin *join, DuplicateGrouper *grouper) {
  while (next_batch(join->engine, &join->spill_file, join->batch))
    call_cpp([&] {
      for (size_t i = 0; i < join->batch->size(); ++i)
        grouper->add_pair(join->batch->left[i], join->batch->right[i], pair_similarity(*join, i));
    });
}

}  // namespace
}  // namespace simjoin::pg

using namespace simjoin;
using namespace simjoin::pg;

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_duplicate_groups);
Datum simjoin_duplicate_groups(PG_FUNCTION_ARGS) {
  constexpr const char *function = "duplicate_groups";
  compat::begin_materialized_result(fcinfo);
  const Measure measure = measure_by_name(string_argument(fcinfo, Arg_measure), function);
  const double threshold = PG_GETARG_FLOAT8(Arg_threshold);
  check_similarity(function, "threshold", threshold, measure, false);
  const GroupingOptions options =
      grouping_options(string_argument(fcinfo, Arg_method), string_argument(fcinfo, Arg_keep),
                       PG_GETARG_FLOAT8(Arg_max_group_share), function);
  FunctionJoin *join = start_join(function, measure, threshold, string_argument(fcinfo, Arg_query), nullptr);
  check_distinct_ids(join->left, function);
  RowGrouping *grouping = start_grouping(options, join->left.ids, join->left.count, function, join->context);
  add_pairs(join, &grouping->work->grouper);
  form_groups(grouping, grouping->rows);
  return_groups(fcinfo, *grouping);
  end_join(join);
  return 0;
}
}
