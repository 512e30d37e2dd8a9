#include "pg/join/estimate/sketch_sample.hpp"

extern "C" {
#include "catalog/pg_statistic.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
}

#include <algorithm>
#include <cmath>

#include "pg/sets/tokens.hpp"

namespace simjoin::pg {
namespace {

// Bounds of the work of planning: the sample is thinned out to most_sample_tokens tokens, but has
// fewest_samples sets at least.
constexpr int most_sample_tokens = 2000;
constexpr int fewest_samples = 8;
// Sets too large for PostgreSQL's sample are put together from frequent tokens, one for each of at most this
// many sizes.
constexpr int most_made_sets = 6;

// Adds an array of the statistics to the sample.
void add_sample(Datum datum, double share, TokenType type, SetSketch *sketch) {
  if (sketch->sample_count == SetSketch::most_samples) return;
  ArrayType *array = DatumGetArrayTypeP(datum);
  const int count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
  if (ARR_NDIM(array) != 1 || count < 1 || ARR_HASNULL(array)) return;
  auto *tokens = allocate<TokenKey>(static_cast<size_t>(count));
  const SetView view = {type, static_cast<uint32_t>(count), ARR_DATA_PTR(array), array};
  TokenCursor cursor(view);
  for (int i = 0; i < count; ++i) tokens[i] = cursor.next([](auto token) { return token_key(token); });
  if (reinterpret_cast<Pointer>(array) != DatumGetPointer(datum)) pfree(array);
  std::sort(tokens, tokens + count);
  const int distinct = static_cast<int>(std::unique(tokens, tokens + count) - tokens);
  sketch->sample[sketch->sample_count++] = {static_cast<double>(distinct), share, true, distinct, tokens};
}

// Takes the most common arrays, and of the others the bounds of their histogram. These are a sample: about
// every hundredth array, in an order that has little to do with similarity.
void read_values(HeapTuple tuple, TokenType type, SetSketch *sketch) {
  const int affordable =
      Max(static_cast<int>(most_sample_tokens / sketch->average_size), int{fewest_samples});
  AttStatsSlot slot;
  if (get_attstatsslot(&slot, tuple, STATISTIC_KIND_MCV, InvalidOid,
                       ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS)) {
    sketch->common_values = slot.nnumbers;
    const int stride = 1 + slot.nnumbers / Min(SetSketch::most_samples / 2, affordable);
    for (int i = 0; i < slot.nnumbers; ++i) {
      sketch->common += slot.numbers[i];
      sketch->common_pairs += static_cast<double>(slot.numbers[i]) * slot.numbers[i];
      if (i % stride == 0) add_sample(slot.values[i], slot.numbers[i] * stride, type, sketch);
    }
    free_attstatsslot(&slot);
  }
  if (!get_attstatsslot(&slot, tuple, STATISTIC_KIND_HISTOGRAM, InvalidOid, ATTSTATSSLOT_VALUES)) return;
  // The first and the last bound are the extremes, which are no sample.
  const int inner = Max(slot.nvalues - 2, 0), room = SetSketch::most_samples - sketch->sample_count;
  const int taken = Min(Min(inner, room), affordable);
  const double others = Max(1.0 - sketch->common, 0.0);
  for (int i = 0; i < taken; ++i)
    add_sample(slot.values[1 + (2 * i + 1) * static_cast<int64>(inner) / (2 * static_cast<int64>(taken))],
               others / taken, type, sketch);
  free_attstatsslot(&slot);
}

// Adds a set of this size whose tokens are as frequent as independent draws would make them. Where each of
// several tokens is in one set in n, the set gets every n-th.
void make_sample(double size, double share, SetSketch *sketch) {
  const int known = sketch->draws.count();
  auto *tokens = allocate<TokenKey>(static_cast<size_t>(known));
  int count = 0;
  double expected = 0.5;
  for (int i = 0; i < known && count < size; ++i) {
    expected += holds(sketch->draws.draw(i) * size);
    if (expected < count + 1) continue;
    tokens[count++] = sketch->draws.token(i);
  }
  sketch->sample[sketch->sample_count++] = {size, share, false, count, tokens};
}

// Adds sets for those that are too large to be in PostgreSQL's sample (wider than 1 kB).
void complete_sample(SetSketch *sketch) {
  double largest = 0, wanted = 0, larger = 0;
  for (int i = 0; i < sketch->sample_count; ++i) {
    largest = Max(largest, sketch->sample[i].size);
    wanted += sketch->sample[i].share;
  }
  for (int i = 0; i < sketch->size_count; ++i)
    if (sketch->sizes[i].size > largest) larger += sketch->sizes[i].share;
  for (int i = 0; i < sketch->sample_count; ++i) sketch->sample[i].share *= (1.0 - larger) / wanted;
  double share = 0, sizes = 0;
  int made = 0;
  for (int i = 0; i < sketch->size_count && larger > 0; ++i) {
    const SizeGroup &group = sketch->sizes[i];
    if (group.size <= largest) continue;
    share += group.share;
    sizes += group.share * group.size;
    const bool last = i + 1 == sketch->size_count;
    if (share < larger / most_made_sets && !last) continue;
    if (sketch->sample_count == SetSketch::most_samples || made++ > most_made_sets) return;
    make_sample(std::round(sizes / share), share, sketch);
    share = sizes = 0;
  }
}

// Puts the sample and its tokens in order.
void order_sample(SetSketch *sketch) {
  SampleSet *end = sketch->sample + sketch->sample_count;
  std::stable_sort(sketch->sample, end,
                   [](const SampleSet &a, const SampleSet &b) { return a.size < b.size; });
  int count = 0;
  for (const SampleSet *set = sketch->sample; set != end; ++set) count += set->real ? set->token_count : 0;
  sketch->sample_tokens = allocate<SampleToken>(static_cast<size_t>(count));
  for (int s = 0; s < sketch->sample_count; ++s) {
    const SampleSet &set = sketch->sample[s];
    for (int i = 0; i < set.token_count && set.real; ++i)
      sketch->sample_tokens[sketch->sample_token_count++] = {set.tokens[i], s};
  }
  std::sort(sketch->sample_tokens, sketch->sample_tokens + count,
            [](const SampleToken &a, const SampleToken &b) {
              return a.token < b.token || (a.token == b.token && a.set < b.set);
            });
}

}  // namespace

void take_sample(HeapTuple statistics, TokenType type, SetSketch *sketch) {
  read_values(statistics, type, sketch);
  complete_sample(sketch);
  order_sample(sketch);
}

}  // namespace simjoin::pg
