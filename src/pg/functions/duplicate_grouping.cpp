#include "pg/functions/duplicate_grouping.hpp"

extern "C" {
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
}

#include <algorithm>
#include <string_view>

#include "core/base/memory_shares.hpp"
#include "core/dedup/id_order.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/computation_memory.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/computation/background.hpp"

namespace simjoin::pg {
namespace {

// Smaller groups are never worth a NOTICE: in a small table any group has a large share.
constexpr uint32_t least_alarming_group = 100;
// Larger groups always are: most of them come from placeholders, such as 'n/a'.
constexpr uint32_t largest_usual_group = 1000;
constexpr size_t most_named_groups = 10;

struct LargeGroup {
  uint32_t rows;
  uint32_t representative;  // a row
};

// Returns the place of each row in the order of ids.
uint32_t *places_by_id(const int64 *ids, size_t rows) {
  auto *places = allocate<uint32_t>(rows);
  call_cpp([&] { place_by_id(ids, static_cast<uint32_t>(rows), places); });
  return places;
}

uint32_t *places_by_row(size_t rows) {
  auto *places = allocate<uint32_t>(rows);
  for (size_t i = 0; i < rows; ++i) places[i] = static_cast<uint32_t>(i);
  return places;
}

// Puts the group, of its representative, among the largest ones if it is large enough. They descend.
void note_group(const LargeGroup &group, LargeGroup *largest, size_t count) {
  LargeGroup *end = largest + count;
  LargeGroup *place = std::upper_bound(
      largest, end, group, [](const LargeGroup &a, const LargeGroup &b) { return a.rows > b.rows; });
  if (place == end) return;
  std::move_backward(place, end - 1, end);
  *place = group;
}

// Returns the names of the groups after the largest: '17 (2000 rows), 4 (1500 rows) and 3 more'.
const char *other_groups(const RowGrouping &grouping, const LargeGroup *largest, size_t groups) {
  StringInfoData text;
  initStringInfo(&text);
  const size_t named = std::min(groups, most_named_groups);
  for (size_t i = 1; i < named; ++i)
    appendStringInfo(&text, "%s%s (%u rows)", i == 1 ? "" : ", ",
                     key_text(grouping.keys, grouping.ids[largest[i].representative]), largest[i].rows);
  if (named < groups) appendStringInfo(&text, " and %zu more", groups - named);
  return text.data;
}

// Reports groups that are large, or whose share of all rows is above max_group_share.
void report_large_groups(const RowGrouping &grouping, const DuplicateGroups &groups, size_t all_rows) {
  if (grouping.rows == 0 || grouping.options.max_group_share == 1) return;
  auto *sizes = allocate<uint32_t>(grouping.rows);
  std::fill_n(sizes, grouping.rows, 0);
  InterruptCounter interrupts;
  for (const uint32_t row : groups.representatives) {
    interrupts.add(10);
    ++sizes[row];
  }
  const double most = grouping.options.max_group_share * static_cast<double>(all_rows);
  LargeGroup largest[most_named_groups] = {};
  size_t large = 0;
  for (size_t row = 0; row < grouping.rows; ++row) {
    if (sizes[row] <= largest_usual_group && (sizes[row] < least_alarming_group || sizes[row] <= most))
      continue;
    interrupts.add(10);
    ++large;
    note_group({sizes[row], static_cast<uint32_t>(row)}, largest, most_named_groups);
  }
  pfree(sizes);
  if (large == 0) return;
  ereport(NOTICE,
          (errmsg("%s: the group %s holds %u of %zu rows", grouping.function,
                  key_text(grouping.keys, grouping.ids[largest->representative]), largest->rows, all_rows),
           large == 1 ? 0 : errdetail("Other large groups: %s.", other_groups(grouping, largest, large)),
           errhint("If they are copies of one row, nothing is wrong. Otherwise raise the threshold, "
                   "or use the method star, in which every row is similar to its representative.")));
}

constexpr std::string_view keep_names[] = {"smallest_id", "first_row"};

}  // namespace

GroupingOptions grouping_options(const char *method, const char *keep, double max_group_share, bool judged,
                                 const char *function) {
  GroupingOptions options;
  options.grouping = static_cast<Grouping>(number_of_name(method, grouping_names, function, "method",
                                                          "The methods are components, star and best_link."));
  options.keep_first_row = number_of_name(keep, keep_names, function, "choice of the row to keep",
                                          "The choices are smallest_id and first_row.") == 1;
  options.max_group_share = max_group_share;
  if (!(max_group_share >= 0 && max_group_share <= 1))
    raise_argument(function, "max_group_share", max_group_share,
                   "It is a part of all rows, a number of at least 0 and at most 1.");
  options.judged = judged;
  if (judged && options.grouping != Grouping::components)
    raise_argument(function, "method", quote_literal_cstr(method),
                   "Verdicts bind groups of the method components only.");
  return options;
}

GroupingWork::GroupingWork(Grouping method, size_t memory_limit) {
  memory.set_limit(memory_limit,
                   {"the groups of duplicates need",
                    method == Grouping::components
                        ? "use a higher threshold or fewer rows"
                        : "use the method components, which keeps no pairs, a higher threshold or fewer rows",
                    " that the join leaves"});
}

GroupingWork *create_grouping_work(Grouping method, MemoryContext context, bool beside_keys) {
  const size_t limit = memory_limit_of(context);
  const size_t share = beside_keys ? pair_share_beside_keys(limit) : pair_share(limit);
  return own(context, [method, share] { return std::make_unique<GroupingWork>(method, share); });
}

RowGrouping *start_grouping(const GroupingOptions &options, GroupingWork *work, const int64 *ids, size_t rows,
                            const char *function, MemoryContext context, RowKeys *keys) {
  MemoryContext old = MemoryContextSwitchTo(context);
  auto *grouping = static_cast<RowGrouping *>(palloc0(sizeof(RowGrouping)));
  const uint32_t *places = options.keep_first_row ? places_by_row(rows) : places_by_id(ids, rows);
  MemoryContextSwitchTo(old);
  grouping->function = function;
  grouping->options = options;
  grouping->ids = ids;
  grouping->keys = keys;
  grouping->rows = rows;
  grouping->context = context;
  grouping->work = work;
  call_cpp([&] {
    if (options.judged) {
      work->judged.emplace(places, static_cast<uint32_t>(rows), work->memory);
      return;
    }
    work->grouper.emplace(options.grouping, places, static_cast<uint32_t>(rows), work->memory,
                          work->copies ? work->copies->families() : SetFamilies{});
  });
  return grouping;
}

void form_groups(RowGrouping *grouping, size_t all_rows) {
  GroupingWork *work = grouping->work;
  run_interruptibly(grouping->context, [work](WorkerPool &pool) {
    work->result.emplace(work->judged ? work->judged->groups(pool) : work->grouper->groups(pool));
  });
  report_large_groups(*grouping, *work->result, all_rows);
}

GroupRow group_row(const RowGrouping &grouping, size_t row) {
  const DuplicateGroups &groups = *grouping.work->result;
  const uint32_t representative = groups.representatives[row];
  const bool represents = representative == row;
  const double similarity = groups.similarities[row];
  return {
      {key_at(grouping.keys, grouping.ids[row], 0), key_at(grouping.keys, grouping.ids[representative], 1),
       BoolGetDatum(represents), represents ? Datum{0} : Float8GetDatum(similarity),
       grouping.entities == nullptr ? Datum{0} : Int64GetDatum(grouping.entities[row])},
      {false, false, false, represents || similarity < 0, false}};
}

void return_groups(const RowGrouping &grouping, ResultRows *result) {
  return_rows(grouping.rows, [&](size_t row) {
    GroupRow columns = group_row(grouping, row);
    result->add(columns.values, columns.nulls);
  });
}

}  // namespace simjoin::pg
