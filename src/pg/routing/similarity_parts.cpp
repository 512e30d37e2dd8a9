// The parts of a distributed join as SQL functions.
#include "pg/base/pg.hpp"

extern "C" {
#include "utils/array.h"
}

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "core/routing/parts.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/errors.hpp"
#include "pg/sets/arrays.hpp"
#include "pg/sets/set_codec.hpp"
#include "pg/sets/sorted_tokens.hpp"
#include "pg/sets/tokens.hpp"

namespace simjoin::pg {
namespace {

constexpr uint32 most_parts = 1'000'000;

constexpr const char *parts_hint = "It is a number from 1 to %u.";

// Returns the number of distinct tokens of a set. Frees what it had to detoast.
uint32_t distinct_tokens(Datum array, const char *function) {
  const SetView set = view_set(array, function);
  const size_t count = with_token_type(set.type, [&](auto token) {
    const auto tokens = sorted_tokens<decltype(token)>(set);
    free_tokens(tokens);
    return tokens.count;
  });
  free_view(set, array);
  return static_cast<uint32_t>(count);
}

// Returns the elements of an array argument without NULLs.
template <class T>
std::span<const T> numbers_argument(FunctionCallInfo fcinfo, int number, const char *function,
                                    const char *name) {
  ArrayType *array = PG_GETARG_ARRAYTYPE_P(number);
  check_plain_array(array, function, name, "Leave the NULLs out.");
  return {reinterpret_cast<const T *>(ARR_DATA_PTR(array)),
          static_cast<size_t>(ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)))};
}

// Returns the cuts of a bigint[], which similarity_part_bounds has made.
std::span<const int64_t> bounds_argument(FunctionCallInfo fcinfo, int number, const char *function) {
  const std::span<const int64_t> cuts = numbers_argument<int64_t>(fcinfo, number, function, "bounds");
  if (cuts.size() >= most_parts || !std::is_sorted(cuts.begin(), cuts.end()))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s: bounds are not in order", function),
                    errhint("Bounds are what similarity_part_bounds returns.")));
  return cuts;
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_set_size);
Datum simjoin_set_size(PG_FUNCTION_ARGS) {
  PG_RETURN_INT32(static_cast<int32>(distinct_tokens(PG_GETARG_DATUM(0), "set_size")));
}

PG_FUNCTION_INFO_V1(simjoin_similarity_part_group);
Datum simjoin_similarity_part_group(PG_FUNCTION_ARGS) {
  const int32 groups = PG_GETARG_INT32(1);
  check_count(groups, most_parts, "similarity_part_group", "groups", parts_hint);
  PG_RETURN_INT32(static_cast<int32>(group_of_id(PG_GETARG_INT64(0), static_cast<uint32_t>(groups))));
}

PG_FUNCTION_INFO_V1(simjoin_similarity_parts_by_id);
Datum simjoin_similarity_parts_by_id(PG_FUNCTION_ARGS) {
  const std::span<const uint16_t> steps = call_cpp([&] { return difference_set(PG_GETARG_INT32(1)); });
  const auto parts = static_cast<uint32_t>(PG_GETARG_INT32(1));
  const uint32_t group = group_of_id(PG_GETARG_INT64(0), parts);
  const auto result = make_array<int32>(steps.size());
  std::transform(steps.begin(), steps.end(), result.elements,
                 [&](uint32_t step) { return static_cast<int32>((group + step) % parts); });
  PG_RETURN_DATUM(result.datum());
}

PG_FUNCTION_INFO_V1(simjoin_similarity_parts_by_size);
Datum simjoin_similarity_parts_by_size(PG_FUNCTION_ARGS) {
  constexpr const char *function = "similarity_parts";
  for (int i = 0; i < PG_NARGS(); ++i)
    if (PG_ARGISNULL(i) && i != 1) PG_RETURN_NULL();
  const double threshold = PG_GETARG_FLOAT8(2);
  const Measure measure = symmetric_measure_by_name(string_argument(fcinfo, 4), function);
  check_similarity(threshold, measure, function);
  const std::span<const int64_t> cuts = bounds_argument(fcinfo, 3, function);
  // A row without a set has no partner and stays at home, as an empty set does.
  const uint32_t size = PG_ARGISNULL(1) ? 0 : distinct_tokens(PG_GETARG_DATUM(1), function);
  const PartRange range =
      parts_by_size(size, PG_GETARG_INT64(0), Bounds(measure, threshold), cuts, PG_GETARG_BOOL(5));
  const auto result = make_array<int32>(range.last - range.first + 1);
  int32 *next = result.elements;
  *next++ = static_cast<int32>(range.home);
  for (uint32_t part = range.first; part <= range.last; ++part)
    if (part != range.home) *next++ = static_cast<int32>(part);
  PG_RETURN_DATUM(result.datum());
}

PG_FUNCTION_INFO_V1(simjoin_similarity_part_bounds);
Datum simjoin_similarity_part_bounds(PG_FUNCTION_ARGS) {
  constexpr const char *function = "similarity_part_bounds";
  const std::span<const int32_t> sizes = numbers_argument<int32_t>(fcinfo, 0, function, "sizes");
  const std::span<const int64_t> counts = numbers_argument<int64_t>(fcinfo, 1, function, "counts");
  const int32 parts = PG_GETARG_INT32(2);
  check_count(parts, most_parts, function, "parts", parts_hint);
  if (sizes.size() != counts.size())
    raise_argument(function, "counts",
                   psprintf("an array of %zu elements for %zu sizes", counts.size(), sizes.size()),
                   "Give one count for each size.");
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] < 0 || counts[i] < 0)
      raise_argument(function, sizes[i] < 0 ? "a size" : "a count", "negative",
                     "Sizes and counts are what SELECT set_size(tokens), count(*) ... GROUP BY 1 returns.");
  const auto result = make_array<int64>(static_cast<size_t>(parts) - 1);
  call_cpp([&] {
    std::vector<SizeCount> all;
    for (size_t i = 0; i < sizes.size(); ++i)
      all.push_back({static_cast<uint32_t>(sizes[i]), static_cast<double>(counts[i])});
    const std::vector<int64_t> cuts = cuts_by_size(std::move(all), static_cast<uint32_t>(parts));
    std::copy(cuts.begin(), cuts.end(), result.elements);
  });
  PG_RETURN_DATUM(result.datum());
}
}

}  // namespace simjoin::pg
