// Groups of duplicates among the rows of a query, as an SQL function.
#include "pg/base/pg.hpp"

#include "core/base/memory_shares.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/engine.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/settings.hpp"
#include "pg/functions/duplicate_grouping.hpp"
#include "pg/functions/join_functions.hpp"

namespace simjoin::pg {
namespace {

constexpr const char *function = "duplicate_groups";

// The arguments of duplicate_groups, in order.
enum Argument { Arg_query, Arg_threshold, Arg_measure, Arg_method, Arg_keep, Arg_max_group_share };

// Returns a join of the rows of the query with themselves, fed with the sets that are not copies of earlier
// ones.
FunctionJoin *start_join_without_copies(Measure measure, double threshold, const char *query,
                                        GroupingWork **work) {
  FunctionJoin *join = create_function_join(function, measure, true);
  *work = create_grouping_work(join->context);
  call_cpp([&] {
    (*work)->copies.emplace(measure, threshold, row_share(Settings::memory_limit()), (*work)->memory);
  });
  create_function_engine(join, threshold);
  join->left = read_rows(query, join->engine, &join->spill_file, Side::left, function, join->context, nullptr,
                         &*(*work)->copies);
  call_cpp([&] { (*work)->copies->finish(); });
  check_distinct_ids(join->left, function);
  return join;
}

void add_pairs(FunctionJoin *join, GroupingWork *work) {
  while (next_batch(join->engine, &join->spill_file, join->batch))
    call_cpp([&] {
      for (size_t i = 0; i < join->batch->size(); ++i)
        work->grouper->add_pair(work->copies->joined_row(join->batch->left[i]),
                                work->copies->joined_row(join->batch->right[i]), pair_similarity(*join, i));
    });
}

}  // namespace
}  // namespace simjoin::pg

using namespace simjoin;
using namespace simjoin::pg;

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_duplicate_groups);
Datum simjoin_duplicate_groups(PG_FUNCTION_ARGS) {
  ResultRows result(fcinfo);
  const Measure measure = measure_by_name(string_argument(fcinfo, Arg_measure), function);
  const double threshold = PG_GETARG_FLOAT8(Arg_threshold);
  check_similarity(threshold, measure, function);
  const GroupingOptions options =
      grouping_options(string_argument(fcinfo, Arg_method), string_argument(fcinfo, Arg_keep),
                       PG_GETARG_FLOAT8(Arg_max_group_share), function);
  GroupingWork *work;
  FunctionJoin *join =
      start_join_without_copies(measure, threshold, string_argument(fcinfo, Arg_query), &work);
  RowGrouping *grouping =
      start_grouping(options, work, join->left.ids.data(), join->left.count(), function, join->context);
  add_pairs(join, work);
  form_groups(grouping, grouping->rows);
  return_groups(*grouping, &result);
  end_join(join);
  return 0;
}
}
