#include "pg/set_statistics.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "common/hashfn.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
}

#include <algorithm>
#include <cmath>
#include <functional>

#include "pg/compat.hpp"
#include "pg/tokens.hpp"

namespace simjoin::pg {
namespace {

// Sets without statistics: the size of a short text's word set.
constexpr double usual_size = 30;
// ... and the share of the sets that hold one of their tokens.
constexpr double usual_frequency = 0.02;

constexpr double array_header_bytes = 24;

// The most common elements' numbers end with the least and the greatest of them and the share of NULLs.
constexpr int not_frequencies = 3;

// Bounds of the work of planning. The sample is thinned out to so many tokens, one set at least.
constexpr int most_sample_tokens = 2000;
// Sets too large for PostgreSQL's sample are put together from frequent tokens, one for each of so many
// sizes.
constexpr int most_made_sets = 6;

// Sizes above this are grouped, with the largest so much above the smallest.
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

// Returns the size of a set of average width.
double size_by_width(HeapTuple tuple, TokenType type) {
  const auto width = reinterpret_cast<Form_pg_statistic>(GETSTRUCT(tuple))->stawidth;
  return Max((width - array_header_bytes) / token_bytes(type), 1.0);
}

TokenKey integer_key(int64 value) {
  return static_cast<uint64>(value) * 0x9E3779B97F4A7C15u;  // the golden ratio: spreads the high bits
}

TokenKey text_key(const char *datum) {
  return hash_bytes_extended(reinterpret_cast<const unsigned char *>(VARDATA_ANY(datum)),
                             static_cast<int>(VARSIZE_ANY_EXHDR(datum)), 0);
}

TokenKey token_key(Datum token, TokenType type) {
  if (type == TokenType::int4) return integer_key(DatumGetInt32(token));
  if (type == TokenType::int8) return integer_key(DatumGetInt64(token));
  return text_key(DatumGetPointer(token));  // short: never out of line within statistics
}

void assume_sizes_around(SetStatistics *statistics, double average) {
  statistics->average_size = Max(average, 1.0);
  statistics->size_count = 5;
  for (int i = 0; i < 5; ++i)
    statistics->sizes[i] = {Max(1.0, std::round(statistics->average_size * (0.5 + i * 0.25))), 0.2};
}

// Adds sets of a size; sizes come in ascending order.
void add_size(SetStatistics *statistics, double size, double share) {
  if (size < 1) return;  // empty sets join nothing
  SizeGroup *last = statistics->size_count == 0 ? nullptr : &statistics->sizes[statistics->size_count - 1];
  const bool full = statistics->size_count == SetStatistics::most_sizes;
  if (last != nullptr &&
      (full || size <= last->size || (size > exact_sizes && size <= last->size * group_width))) {
    last->share += share;
  } else {
    statistics->sizes[statistics->size_count++] = {size, share};
  }
}

// Takes the distinct-element-count histogram: bounds of bins with as many sets each, then the average.
void read_sizes(HeapTuple tuple, SetStatistics *statistics) {
  AttStatsSlot slot;
  if (!get_attstatsslot(&slot, tuple, STATISTIC_KIND_DECHIST, InvalidOid, ATTSTATSSLOT_NUMBERS)) return;
  const int bounds = slot.nnumbers - 1;
  if (bounds >= 2) {
    statistics->average_size = Max(static_cast<double>(slot.numbers[bounds]), 1.0);
    statistics->size_count = 0;
    for (int i = 0; i + 1 < bounds; ++i) {
      const double low = Max(slot.numbers[i], 0.5), high = Max(slot.numbers[i + 1], 0.5);
      // The bounds are sizes of sets, but for the first and the last, which are the extremes; a wide bin has
      // others between them.
      const int points = high - low < 2 ? 2 : 4;
      const int first = i == 0 && low < high ? 1 : 0;
      const int last = i + 2 == bounds && low < high ? points - 2 : points - 1;
      for (int point = first; point <= last; ++point)
        add_size(statistics, std::floor(low * std::pow(high / low, point / (points - 1.0)) + 1e-6),
                 1.0 / (last - first + 1) / (bounds - 1));
    }
    if (statistics->size_count == 0) assume_sizes_around(statistics, 1.0);
  }
  free_attstatsslot(&slot);
}

// Takes the most common elements.
void read_tokens(HeapTuple tuple, TokenType type, SetStatistics *statistics) {
  AttStatsSlot slot;
  if (!get_attstatsslot(&slot, tuple, STATISTIC_KIND_MCELEM, InvalidOid,
                        ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS))
    return;
  const int count = Min(slot.nvalues, slot.nnumbers - not_frequencies);
  auto *tokens = allocate<TokenKey>(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) tokens[i] = token_key(slot.values[i], type);
  statistics->draws.fill(count, tokens, slot.numbers, statistics->sizes, statistics->size_count,
                         statistics->average_size);  // keeps the numbers
}

// Adds an array of the statistics to the sample.
void add_sample(Datum datum, double share, TokenType type, SetStatistics *statistics) {
  if (statistics->sample_count == SetStatistics::most_samples) return;
  ArrayType *array = DatumGetArrayTypeP(datum);
  const int count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
  if (ARR_NDIM(array) != 1 || count < 1 || ARR_HASNULL(array)) return;
  auto *tokens = allocate<TokenKey>(static_cast<size_t>(count));
  const SetView view = {type, static_cast<uint32_t>(count), ARR_DATA_PTR(array), array};
  TextCursor cursor(view);
  for (int i = 0; i < count; ++i) {
    switch (type) {
      case TokenType::int4:
        tokens[i] = integer_key(static_cast<const int32 *>(view.data)[i]);
        break;
      case TokenType::int8:
        tokens[i] = integer_key(static_cast<const int64 *>(view.data)[i]);
        break;
      case TokenType::text:
        const std::string_view token = cursor.next();
        tokens[i] = hash_bytes_extended(reinterpret_cast<const unsigned char *>(token.data()),
                                        static_cast<int>(token.size()), 0);
        break;
    }
  }
  std::sort(tokens, tokens + count);
  const int distinct = static_cast<int>(std::unique(tokens, tokens + count) - tokens);
  statistics->sample[statistics->sample_count++] = {static_cast<double>(distinct), share, true, distinct,
                                                    tokens};
}

// Takes the most common arrays and the bounds of the histogram of the others, which are a sample of them:
// every hundredth or so, in an order that has little to do with similarity. Adds up how many rows are equal,
// as PostgreSQL does for `=`: the most common values, the others spread evenly.
void read_values(HeapTuple tuple, TokenType type, SetStatistics *statistics) {
  auto *form = reinterpret_cast<Form_pg_statistic>(GETSTRUCT(tuple));
  const double rows = Max(statistics->table_rows, 1.0);
  // A negative number is a share of all rows, those with NULL included.
  const double share_of_rows = -form->stadistinct / Max(1.0 - form->stanullfrac, 1e-6);
  const double values = Max(form->stadistinct < 0 ? share_of_rows * rows : form->stadistinct, 1.0);
  AttStatsSlot slot;
  double common = 0;
  int common_values = 0;
  if (get_attstatsslot(&slot, tuple, STATISTIC_KIND_MCV, InvalidOid,
                       ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS)) {
    common_values = slot.nnumbers;
    const int stride = 1 + common_values / (SetStatistics::most_samples / 2);
    for (int i = 0; i < common_values; ++i) {
      common += slot.numbers[i];
      statistics->equal_share += static_cast<double>(slot.numbers[i]) * slot.numbers[i];
      if (i % stride == 0) add_sample(slot.values[i], slot.numbers[i] * stride, type, statistics);
    }
    free_attstatsslot(&slot);
  }
  const double others = Max(1.0 - common, 0.0);
  // Each row equals itself; that is no pair.
  statistics->copies = Max(others * rows / Max(values - common_values, 1.0), 1.0);
  statistics->equal_share += others * (statistics->copies - 1.0) / rows;
  statistics->repeated = common + others * (1.0 - std::exp(1.0 - statistics->copies));

  if (!get_attstatsslot(&slot, tuple, STATISTIC_KIND_HISTOGRAM, InvalidOid, ATTSTATSSLOT_VALUES)) return;
  // The first and the last are the least and the greatest of all: no sample.
  const int inner = Max(slot.nvalues - 2, 0), room = SetStatistics::most_samples - statistics->sample_count;
  const int affordable = Max(static_cast<int>(most_sample_tokens / statistics->average_size), 8);
  const int taken = Min(Min(inner, room), affordable);
  for (int i = 0; i < taken; ++i)
    add_sample(slot.values[1 + (2 * i + 1) * static_cast<int64>(inner) / (2 * taken)], others / taken, type,
               statistics);
  free_attstatsslot(&slot);
}

// Adds a set of this size that holds the tokens as independent draws would: of several tokens that one set in
// n holds each, every n-th.
void make_sample(double size, double share, const double *draws, SetStatistics *statistics) {
  const int known = statistics->draws.count();
  auto *tokens = allocate<TokenKey>(static_cast<size_t>(known));
  int count = 0;
  double expected = 0.5;
  for (int i = 0; i < known && count < size; ++i) {
    expected += holds(draws[i] * size);
    if (expected < count + 1) continue;
    tokens[count++] = statistics->draws.token(i);
  }
  statistics->sample[statistics->sample_count++] = {size, share, false, count, tokens};
}

// Makes up for the sets that are too large to be in PostgreSQL's sample (wider than 1 kB).
void complete_sample(SetStatistics *statistics) {
  double largest = 0, wanted = 0, larger = 0;
  for (int i = 0; i < statistics->sample_count; ++i) {
    largest = Max(largest, statistics->sample[i].size);
    wanted += statistics->sample[i].share;
  }
  for (int i = 0; i < statistics->size_count; ++i)
    if (statistics->sizes[i].size > largest) larger += statistics->sizes[i].share;
  for (int i = 0; i < statistics->sample_count; ++i) statistics->sample[i].share *= (1.0 - larger) / wanted;
  if (larger == 0) return;
  auto *draws = allocate<double>(static_cast<size_t>(statistics->draws.count()));
  for (int i = 0; i < statistics->draws.count(); ++i) draws[i] = statistics->draws.draw(i);
  double share = 0, sizes = 0;
  int made = 0;
  for (int i = 0; i < statistics->size_count; ++i) {
    const SizeGroup &group = statistics->sizes[i];
    if (group.size <= largest) continue;
    share += group.share;
    sizes += group.share * group.size;
    const bool last = i + 1 == statistics->size_count;
    if (share < larger / most_made_sets && !last) continue;
    if (statistics->sample_count == SetStatistics::most_samples || made++ > most_made_sets) return;
    make_sample(std::round(sizes / share), share, draws, statistics);
    share = sizes = 0;
  }
}

// Returns the frequency that a token drawn from a set has on average where it is none of the most common
// ones: frequencies fall with the rank as they do among the less common half of those.
double rare_frequency(int count, const float *frequencies, double average_size) {
  auto *falling = allocate<float>(static_cast<size_t>(count));
  std::copy(frequencies, frequencies + count, falling);
  const int half = count / 2, last = count - 1;
  std::nth_element(falling, falling + half, falling + count, std::greater<>());
  double all = 0, least = 1;
  for (int i = 0; i < count; ++i) {
    all += frequencies[i];
    least = Min(least, static_cast<double>(frequencies[i]));
  }
  const double rest = average_size - all;
  if (rest <= 0 || least <= 0) return 0;
  const double exponent =
      last > half ? std::log(falling[half] / least) / std::log((last + 1.0) / (half + 1.0)) : 1.0;
  // The sum of the squares of least * (rank / count)^-exponent over all ranks beyond count.
  const double squares = least * least * count / Max(2 * exponent - 1, 0.2);
  return Min(squares / rest, least);
}

}  // namespace

void DrawTable::fill(const SizeGroup *sizes, int size_count) {
  double draw = largest_draw;
  for (double &entry : frequency_) {
    entry = 0;
    for (int i = 0; i < size_count; ++i) entry += sizes[i].share * holds(draw * sizes[i].size);
    draw /= 2;
  }
}

double DrawTable::draw_of(double wanted) const {
  const double *end = frequency_ + entries;
  const double *below = std::lower_bound(frequency_, end, wanted, std::greater<>());
  if (below == frequency_) return largest_draw;
  if (below == end) return 0.0;
  const double draw = std::ldexp(largest_draw, static_cast<int>(frequency_ - below));
  return draw * (1 + (wanted - *below) / (below[-1] - *below));
}

double TokenDraws::operator()(TokenKey token) const {
  if (count_ == 0) return rare_;
  for (uint32 slot = static_cast<uint32>(token >> 32) & slot_mask_; slots_[slot] >= 0;
       slot = (slot + 1) & slot_mask_)
    if (tokens_[slots_[slot]] == token) return draw(slots_[slot]);
  return rare_;
}

void TokenDraws::fill(int count, const TokenKey *tokens, const float *frequencies, const SizeGroup *sizes,
                      int size_count, double average_size) {
  if (count < 1) return;
  count_ = count;
  tokens_ = tokens;
  frequencies_ = frequencies;
  slot_mask_ = 1;
  while (slot_mask_ < static_cast<uint32>(2 * count)) slot_mask_ = slot_mask_ * 2;
  slots_ = allocate<int>(slot_mask_);
  std::fill_n(slots_, slot_mask_, -1);
  --slot_mask_;
  table_.fill(sizes, size_count);
  for (int i = 0; i < count; ++i) {
    uint32 slot = static_cast<uint32>(tokens[i] >> 32) & slot_mask_;
    while (slots_[slot] >= 0) slot = (slot + 1) & slot_mask_;
    slots_[slot] = i;
  }
  rare_ = table_.draw_of(rare_frequency(count, frequencies, average_size));
}

void read_set_statistics(PlannerInfo *root, double rows, Expr *set, TokenType type,
                         SetStatistics *statistics) {
  *statistics = {};
  statistics->rows = rows;
  statistics->copies = 1;
  assume_sizes_around(statistics, usual_size);
  VariableStatData variable;
  examine_variable(root, reinterpret_cast<Node *>(set), 0, &variable);
  statistics->table_rows = variable.rel == nullptr ? rows : Max(variable.rel->tuples, rows);
  // No measure tells anything about its arguments but the result (they are leakproof in effect, and nothing
  // else is done with the values here), so the values may be used as those of `=` are.
  if (HeapTupleIsValid(variable.statsTuple)) {
    const double present =
        1.0 - reinterpret_cast<Form_pg_statistic>(GETSTRUCT(variable.statsTuple))->stanullfrac;
    assume_sizes_around(statistics, size_by_width(variable.statsTuple, type));
    statistics->rows *= present;
    statistics->table_rows *= present;
    read_sizes(variable.statsTuple, statistics);
    read_tokens(variable.statsTuple, type, statistics);
    read_values(variable.statsTuple, type, statistics);
    complete_sample(statistics);
  }
  ReleaseVariableStats(variable);
}

SetShape set_shape(PlannerInfo *root, Node *set, TokenType type) {
  SetShape shape = {usual_size, usual_size * usual_frequency};
  if (IsA(set, Const)) {
    if (castNode(Const, set)->constisnull) return {0, 0};
    ArrayType *array = DatumGetArrayTypeP(castNode(Const, set)->constvalue);
    shape.average_size = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
    return shape;
  }
  if (root == nullptr) return shape;
  VariableStatData variable;
  examine_variable(root, set, 0, &variable);
  AttStatsSlot slot;
  if (HeapTupleIsValid(variable.statsTuple)) {
    shape.average_size = size_by_width(variable.statsTuple, type);
    if (get_attstatsslot(&slot, variable.statsTuple, STATISTIC_KIND_DECHIST, InvalidOid,
                         ATTSTATSSLOT_NUMBERS)) {
      if (slot.nnumbers > 0) shape.average_size = slot.numbers[slot.nnumbers - 1];
      free_attstatsslot(&slot);
    }
    if (get_attstatsslot(&slot, variable.statsTuple, STATISTIC_KIND_MCELEM, InvalidOid,
                         ATTSTATSSLOT_NUMBERS)) {
      shape.shared_tokens = 0;
      for (int i = 0; i < slot.nnumbers - not_frequencies; ++i)
        shape.shared_tokens += static_cast<double>(slot.numbers[i]) * slot.numbers[i];
      free_attstatsslot(&slot);
    }
  }
  ReleaseVariableStats(variable);
  return shape;
}

}  // namespace simjoin::pg
