#include "pg/join/estimate/set_sketch.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
}

#include <cmath>
#include <string_view>

#include "pg/base/compat.hpp"
#include "pg/base/growing_array.hpp"
#include "pg/join/estimate/kept_sketches.hpp"
#include "pg/join/estimate/sketch_sample.hpp"

namespace simjoin::pg {
namespace {

// The size of sets without statistics: that of a short text's set of words.
constexpr double usual_size = 30;
// The share of the sets that hold a token of such a set.
constexpr double usual_frequency = 0.02;

constexpr double array_header_bytes = 24;

// The numbers of the most common elements end with the least frequency, the greatest frequency and the share
// of NULLs.
constexpr int not_frequencies = 3;

// Sizes above exact_sizes are grouped: the largest of a group is up to group_width times the smallest.
constexpr double exact_sizes = 16;
constexpr double group_width = 1.15;

double token_bytes(TokenType type) {
  switch (type) {
    case TokenType::int4:
      return 4;
    case TokenType::int8:
      return 8;
    case TokenType::text:
      break;
  }
  return 12;
}

Form_pg_statistic form_of(HeapTuple tuple) {
  return reinterpret_cast<Form_pg_statistic>(GETSTRUCT(tuple));
}

// Returns the size of a set of average width.
double size_by_width(HeapTuple tuple, TokenType type) {
  return Max((form_of(tuple)->stawidth - array_header_bytes) / token_bytes(type), 1.0);
}

void assume_sizes_around(SetSketch *sketch, double average) {
  sketch->average_size = Max(average, 1.0);
  sketch->size_count = 5;
  for (int i = 0; i < 5; ++i)
    sketch->sizes[i] = {Max(1.0, std::round(sketch->average_size * (0.5 + i * 0.25))), 0.2};
}

// Adds sets of a size. Sizes come in ascending order.
void add_size(SetSketch *sketch, double size, double share) {
  if (size < 1) return;  // empty sets join nothing
  SizeGroup *last = sketch->size_count == 0 ? nullptr : &sketch->sizes[sketch->size_count - 1];
  const bool full = sketch->size_count == SetSketch::most_sizes;
  if (last != nullptr &&
      (full || size <= last->size || (size > exact_sizes && size <= last->size * group_width))) {
    last->share += share;
  } else {
    sketch->sizes[sketch->size_count++] = {size, share};
  }
}

// Takes the histogram of the counts of distinct elements: the bounds of bins with the same number of sets,
// then the average.
void read_sizes(HeapTuple tuple, SetSketch *sketch) {
  AttStatsSlot slot;
  if (!get_attstatsslot(&slot, tuple, STATISTIC_KIND_DECHIST, InvalidOid, ATTSTATSSLOT_NUMBERS)) return;
  const int bounds = slot.nnumbers - 1;
  if (bounds >= 2) {
    sketch->average_size = Max(static_cast<double>(slot.numbers[bounds]), 1.0);
    sketch->size_count = 0;
    for (int i = 0; i + 1 < bounds; ++i) {
      const double low = Max(slot.numbers[i], 0.5), high = Max(slot.numbers[i + 1], 0.5);
      // The bounds are sizes of sets, and the first and the last one are the extremes. A wide bin has other
      // sizes between its bounds.
      const int points = high - low < 2 ? 2 : 4;
      const int first = i == 0 && low < high ? 1 : 0;
      const int last = i + 2 == bounds && low < high ? points - 2 : points - 1;
      for (int point = first; point <= last; ++point)
        add_size(sketch, std::floor(low * std::pow(high / low, point / (points - 1.0)) + 1e-6),
                 1.0 / (last - first + 1) / (bounds - 1));
    }
    if (sketch->size_count == 0) assume_sizes_around(sketch, 1.0);
  }
  free_attstatsslot(&slot);
}

double sum_of_squares(const AttStatsSlot &slot) {
  double sum = 0;
  for (int i = 0; i < slot.nnumbers - not_frequencies; ++i)
    sum += static_cast<double>(slot.numbers[i]) * slot.numbers[i];
  return sum;
}

TokenKey key_of(Datum token, TokenType type) {
  if (type == TokenType::int4) return token_key(int64{DatumGetInt32(token)});
  if (type == TokenType::int8) return token_key(DatumGetInt64(token));
  const char *text = DatumGetPointer(token);  // short: never out of line within statistics
  return token_key(std::string_view(VARDATA_ANY(text), VARSIZE_ANY_EXHDR(text)));
}

// Takes the most common elements.
void read_tokens(HeapTuple tuple, TokenType type, SetSketch *sketch) {
  AttStatsSlot slot;
  if (!get_attstatsslot(&slot, tuple, STATISTIC_KIND_MCELEM, InvalidOid,
                        ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS))
    return;
  const int count = Min(slot.nvalues, slot.nnumbers - not_frequencies);
  auto *tokens = allocate<TokenKey>(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) tokens[i] = key_of(slot.values[i], type);
  sketch->draws.fill(count, tokens, slot.numbers, sketch->sizes, sketch->size_count, sketch->average_size);
  sketch->shared_tokens = sum_of_squares(slot);
  free_attstatsslot(&slot);
}

// Returns a new sketch in the current memory context: from the statistics, or of usual sets where they are
// NULL.
SetSketch *make_sketch(HeapTuple statistics, TokenType type) {
  auto *sketch = static_cast<SetSketch *>(palloc0(sizeof(SetSketch)));
  sketch->shared_tokens = usual_size * usual_frequency;
  assume_sizes_around(sketch, usual_size);
  if (!HeapTupleIsValid(statistics)) return sketch;
  sketch->null_share = form_of(statistics)->stanullfrac;
  sketch->distinct = form_of(statistics)->stadistinct;
  assume_sizes_around(sketch, size_by_width(statistics, type));
  read_sizes(statistics, sketch);
  read_tokens(statistics, type, sketch);
  take_sample(statistics, type, sketch);
  return sketch;
}

}  // namespace

const SetSketch *set_sketch(HeapTuple statistics, TokenType type) {
  if (!can_be_kept(statistics)) return make_sketch(statistics, type);
  if (const SetSketch *sketch = find_kept_sketch(statistics, type)) return sketch;
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "simjoin: sketch of a column", ALLOCSET_DEFAULT_SIZES);
  MemoryContext caller = MemoryContextSwitchTo(context);
  const SetSketch *sketch = make_sketch(statistics, type);
  MemoryContextSwitchTo(caller);
  keep_sketch(statistics, type, context, sketch);
  return sketch;
}

SetShape sketch_shape(HeapTuple statistics, TokenType type, bool with_shared_tokens) {
  SetShape shape = {usual_size, usual_size * usual_frequency};
  if (!HeapTupleIsValid(statistics)) return shape;
  if (const SetSketch *sketch = find_kept_sketch(statistics, type))
    return {sketch->average_size, sketch->shared_tokens};
  AttStatsSlot slot;
  shape.average_size = size_by_width(statistics, type);
  if (get_attstatsslot(&slot, statistics, STATISTIC_KIND_DECHIST, InvalidOid, ATTSTATSSLOT_NUMBERS)) {
    if (slot.nnumbers > 2) shape.average_size = Max(slot.numbers[slot.nnumbers - 1], 1.0);
    free_attstatsslot(&slot);
  }
  if (with_shared_tokens &&
      get_attstatsslot(&slot, statistics, STATISTIC_KIND_MCELEM, InvalidOid, ATTSTATSSLOT_NUMBERS)) {
    shape.shared_tokens = sum_of_squares(slot);
    free_attstatsslot(&slot);
  }
  return shape;
}

}  // namespace simjoin::pg
