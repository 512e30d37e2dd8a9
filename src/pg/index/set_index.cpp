// What GIN asks of an operator class: the entries of a set, those of a query, and whether a set that has some
// of them may satisfy it.
#include "pg/base/pg.hpp"

extern "C" {
#include "access/gin.h"
#include "access/reloptions.h"
#include "commands/progress.h"
#include "utils/backend_status.h"
}

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "core/lookup/token_order.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/computation/watch.hpp"
#include "pg/index/index_options.hpp"
#include "pg/index/set_keys.hpp"
#include "pg/index/set_query.hpp"

namespace simjoin::pg {
namespace {

// Returns the order of the index that calls.
TokenOrder *order_of(FunctionCallInfo fcinfo) {
  return index_order(PG_HAS_OPCLASS_OPTIONS() ? PG_GET_OPCLASS_OPTIONS() : nullptr);
}

Datum *datums_of(std::span<const TokenCode> entries, int32 *count) {
  auto *datums = allocate<Datum>(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) datums[i] = Int32GetDatum(entries[i]);
  *count = static_cast<int32>(entries.size());
  return datums;
}

// The progress of the build, from PostgreSQL's table of backends.
WatchFigures figures_of_build(const void *) {
  const auto *counts = MyBEEntry->st_progress_param;
  const int64 blocks = counts[PROGRESS_SCAN_BLOCKS_TOTAL], done = counts[PROGRESS_SCAN_BLOCKS_DONE];
  WatchFigures figures;
  if (blocks > 0) figures.share_done = static_cast<double>(done) / static_cast<double>(blocks);
  return figures;
}

// Notes a row of an index that this session builds. GIN has its functions looked up for each build, and keeps
// them no longer than it lasts.
void note_row_of_build(FmgrInfo *function) {
  if (MyBEEntry == nullptr || MyBEEntry->st_progress_command != PROGRESS_COMMAND_CREATE_INDEX) return;
  if (function->fn_extra == nullptr) {
    function->fn_extra = function;
    watch_computation(function, function->fn_mcxt, "index build", nullptr, figures_of_build);
    note_work(function);
    note_end_with_context(function);
  }
  note_row(function);
}

// The classes of sizes of a lookup, for the calls that check sets. GIN keeps a pointer for each entry.
struct KeptClasses {
  size_t count;
  IndexLookup::SizeClass classes[FLEXIBLE_ARRAY_MEMBER];
};

Pointer *keep_classes(const IndexLookup &lookup) {
  auto *kept = static_cast<KeptClasses *>(
      palloc(offsetof(KeptClasses, classes) + lookup.classes.size() * sizeof(IndexLookup::SizeClass)));
  kept->count = lookup.classes.size();
  std::copy(lookup.classes.begin(), lookup.classes.end(), kept->classes);
  auto *pointers = static_cast<Pointer *>(palloc(sizeof(Pointer) * lookup.entries.size()));
  std::fill_n(pointers, lookup.entries.size(), reinterpret_cast<Pointer>(kept));
  return pointers;
}

// Returns the lookup of the query. Its arrays are the order's.
IndexLookup lookup_of(TokenOrder *order, const SetQuery &query) {
  const double least = least_similarity(query);
  if (std::isnan(least)) return {IndexLookup::Kind::nothing, {}, {}};
  if (least <= 0) return {IndexLookup::Kind::everything, {}, {}};
  const Bounds wanted(query.measure, least);
  const SetPrefix keys = keys_to_look_up(*order, query.set);
  const IndexLookup lookup = call_cpp([&] { return order->lookup(keys, wanted); });
  free_keys(keys);
  return lookup;
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_index_extract_set);
Datum simjoin_index_extract_set(PG_FUNCTION_ARGS) {
  note_row_of_build(fcinfo->flinfo);
  const Datum array = PG_GETARG_DATUM(0);
  auto *count = reinterpret_cast<int32 *>(PG_GETARG_POINTER(1));
  TokenOrder *order = order_of(fcinfo);
  const SetView set = view_set(array, "similarity index");
  const SetPrefix prefix = prefix_of(*order, set);
  free_view(set, array);
  auto *entries = allocate<TokenCode>(prefix.keys.size());
  order->entries_of(prefix, entries);
  // GIN sorts what it gets, without looking for interrupts, unless it is sorted.
  sort_first_interruptibly(entries, prefix.keys.size(), prefix.keys.size());
  Datum *datums = datums_of({entries, prefix.keys.size()}, count);
  free_keys(prefix);
  pfree(entries);
  PG_RETURN_POINTER(datums);
}

PG_FUNCTION_INFO_V1(simjoin_index_extract_query);
Datum simjoin_index_extract_query(PG_FUNCTION_ARGS) {
  auto *count = reinterpret_cast<int32 *>(PG_GETARG_POINTER(1));
  auto **extra = reinterpret_cast<Pointer **>(PG_GETARG_POINTER(4));
  auto *search_mode = reinterpret_cast<int32 *>(PG_GETARG_POINTER(6));
  const IndexLookup lookup = lookup_of(order_of(fcinfo), read_set_query(PG_GETARG_DATUM(0)));
  // Rows that the index cannot rule out are all rows with a set.
  *search_mode = lookup.kind == IndexLookup::Kind::everything ? GIN_SEARCH_MODE_ALL : GIN_SEARCH_MODE_DEFAULT;
  if (!lookup.entries.empty()) *extra = keep_classes(lookup);
  PG_RETURN_POINTER(datums_of(lookup.entries, count));
}

PG_FUNCTION_INFO_V1(simjoin_index_consistent);
Datum simjoin_index_consistent(PG_FUNCTION_ARGS) {
  const auto *check = reinterpret_cast<const GinTernaryValue *>(PG_GETARG_POINTER(0));
  const auto *extra = reinterpret_cast<const Pointer *>(PG_GETARG_POINTER(4));
  if (PG_GETARG_INT32(3) == 0) PG_RETURN_GIN_TERNARY_VALUE(GIN_MAYBE);
  const auto *kept = reinterpret_cast<const KeptClasses *>(extra[0]);
  for (size_t i = 0; i < kept->count; ++i) {
    const IndexLookup::SizeClass size_class = kept->classes[i];
    uint32_t shared = 0;
    for (uint32_t k = 0; k < size_class.entries; ++k) shared += check[k] != GIN_FALSE;
    if (shared >= size_class.least) PG_RETURN_GIN_TERNARY_VALUE(GIN_MAYBE);
    check += size_class.entries;
  }
  PG_RETURN_GIN_TERNARY_VALUE(GIN_FALSE);
}
}

}  // namespace simjoin::pg
