#include "pg/join/set_sketch.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "common/hashfn.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
}

#include <algorithm>
#include <cmath>
#include <functional>

#include "pg/base/compat.hpp"
#include "pg/base/interruptible.hpp"

namespace simjoin::pg {
namespace {

// Sets without statistics: the size of a short text's word set.
constexpr double usual_size = 30;
// ... and the share of the sets that hold one of their tokens.
constexpr double usual_frequency = 0.02;

constexpr double array_header_bytes = 24;

// The most common elements' numbers end with the least and the greatest of them and the share of NULLs.
constexpr int not_frequencies = 3;

// Bounds of the work of planning. The sample is thinned out to so many tokens, a few sets at least.
constexpr int most_sample_tokens = 2000;
constexpr int fewest_samples = 8;
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

Form_pg_statistic form_of(HeapTuple tuple) {
  return reinterpret_cast<Form_pg_statistic>(GETSTRUCT(tuple));
}

// Returns the size of a set of average width.
double size_by_width(HeapTuple tuple, TokenType type) {
  return Max((form_of(tuple)->stawidth - array_header_bytes) / token_bytes(type), 1.0);
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

void assume_sizes_around(SetSketch *sketch, double average) {
  sketch->average_size = Max(average, 1.0);
  sketch->size_count = 5;
  for (int i = 0; i < 5; ++i)
    sketch->sizes[i] = {Max(1.0, std::round(sketch->average_size * (0.5 + i * 0.25))), 0.2};
}

// Adds sets of a size; sizes come in ascending order.
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

// Takes the distinct-element-count histogram: bounds of bins with as many sets each, then the average.
void read_sizes(HeapTuple tuple, SetSketch *sketch) {
  AttStatsSlot slot;
  if (!get_attstatsslot(&slot, tuple, STATISTIC_KIND_DECHIST, InvalidOid, ATTSTATSSLOT_NUMBERS)) return;
  const int bounds = slot.nnumbers - 1;
  if (bounds >= 2) {
    sketch->average_size = Max(static_cast<double>(slot.numbers[bounds]), 1.0);
    sketch->size_count = 0;
    for (int i = 0; i + 1 < bounds; ++i) {
      const double low = Max(slot.numbers[i], 0.5), high = Max(slot.numbers[i + 1], 0.5);
      // The bounds are sizes of sets, but for the first and the last, which are the extremes; a wide bin has
      // others between them.
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

// Takes the most common elements.
void read_tokens(HeapTuple tuple, TokenType type, SetSketch *sketch) {
  AttStatsSlot slot;
  if (!get_attstatsslot(&slot, tuple, STATISTIC_KIND_MCELEM, InvalidOid,
                        ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS))
    return;
  const int count = Min(slot.nvalues, slot.nnumbers - not_frequencies);
  auto *tokens = allocate<TokenKey>(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) tokens[i] = token_key(slot.values[i], type);
  sketch->draws.fill(count, tokens, slot.numbers, sketch->sizes, sketch->size_count, sketch->average_size);
  sketch->shared_tokens = sum_of_squares(slot);
  free_attstatsslot(&slot);
}

// Adds an array of the statistics to the sample.
void add_sample(Datum datum, double share, TokenType type, SetSketch *sketch) {
  if (sketch->sample_count == SetSketch::most_samples) return;
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
  if (reinterpret_cast<Pointer>(array) != DatumGetPointer(datum)) pfree(array);
  std::sort(tokens, tokens + count);
  const int distinct = static_cast<int>(std::unique(tokens, tokens + count) - tokens);
  sketch->sample[sketch->sample_count++] = {static_cast<double>(distinct), share, true, distinct, tokens};
}

// Takes the most common arrays and the bounds of the histogram of the others, which are a sample of them:
// every hundredth or so, in an order that has little to do with similarity.
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
  // The first and the last are the least and the greatest of all: no sample.
  const int inner = Max(slot.nvalues - 2, 0), room = SetSketch::most_samples - sketch->sample_count;
  const int taken = Min(Min(inner, room), affordable);
  const double others = Max(1.0 - sketch->common, 0.0);
  for (int i = 0; i < taken; ++i)
    add_sample(slot.values[1 + (2 * i + 1) * static_cast<int64>(inner) / (2 * static_cast<int64>(taken))],
               others / taken, type, sketch);
  free_attstatsslot(&slot);
}

// Adds a set of this size that holds the tokens as independent draws would: of several tokens that one set in
// n holds each, every n-th.
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

// Makes up for the sets that are too large to be in PostgreSQL's sample (wider than 1 kB).
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
  const double rest = average_size - all, middle = falling[half];
  pfree(falling);
  if (rest <= 0 || least <= 0) return 0;
  const double exponent =
      last > half ? std::log(middle / least) / std::log((last + 1.0) / (half + 1.0)) : 1.0;
  // The sum of the squares of least * (rank / count)^-exponent over all ranks beyond count.
  const double squares = least * least * count / Max(2 * exponent - 1, 0.2);
  return Min(squares / rest, least);
}

// The draws of tokens by the share of the sets that hold them: a table of the shares at powers of two.
class DrawTable {
 public:
  DrawTable(const SizeGroup *sizes, int size_count);
  double draw_of(double frequency) const;

 private:
  static constexpr int entries = 30;
  static constexpr double largest_draw = 2;
  double frequency_[entries];  // at the largest draw, half of it, a quarter of it, ...
};

DrawTable::DrawTable(const SizeGroup *sizes, int size_count) {
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

// Returns a sketch without statistics, or the one that the statistics give, in the current memory context.
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
  read_values(statistics, type, sketch);
  complete_sample(sketch);
  order_sample(sketch);
  return sketch;
}

// A sketch that the session keeps, and the row of pg_statistic that it was made from: as long as that is the
// same version of the row, the sketch is good.
struct KeptSketch {
  MemoryContext context;  // NULL where there is none
  ItemPointerData place;
  TransactionId writer;
  Oid table;
  AttrNumber column;
  bool inherited;
  TokenType type;
  uint64 used;  // when
  SetSketch *sketch;
};

KeptSketch kept[kept_sketches];
uint64 uses;

KeptSketch identify(HeapTuple statistics, TokenType type) {
  KeptSketch identity = {};
  identity.place = statistics->t_self;
  identity.writer = HeapTupleHeaderGetRawXmin(statistics->t_data);
  identity.table = form_of(statistics)->starelid;
  identity.column = form_of(statistics)->staattnum;
  identity.inherited = form_of(statistics)->stainherit;
  identity.type = type;
  return identity;
}

bool is_of(const KeptSketch &a, const KeptSketch &b) {
  return a.table == b.table && a.column == b.column && a.inherited == b.inherited && a.type == b.type &&
         a.writer == b.writer &&
         ItemPointerEquals(const_cast<ItemPointer>(&a.place), const_cast<ItemPointer>(&b.place));
}

// Returns the sketch that is kept of these statistics; NULL where there is none.
const SetSketch *find_kept(const KeptSketch &wanted) {
  for (KeptSketch &entry : kept) {
    if (entry.context == nullptr || !is_of(entry, wanted)) continue;
    entry.used = ++uses;
    return entry.sketch;
  }
  return nullptr;
}

// Keeps a sketch that lies in a context of its own, in the place of the one that has not been asked for for
// the longest time.
void keep(KeptSketch entry, MemoryContext context, SetSketch *sketch) {
  KeptSketch *place = &kept[0];
  for (KeptSketch &other : kept)
    if (place->context != nullptr && (other.context == nullptr || other.used < place->used)) place = &other;
  MemoryContextSetParent(context, CacheMemoryContext);
  if (place->context != nullptr) MemoryContextDelete(place->context);
  entry.context = context;
  entry.sketch = sketch;
  entry.used = ++uses;
  *place = entry;
}

// Statistics that a hook made up have no place in pg_statistic.
bool can_be_kept(HeapTuple statistics) {
  return HeapTupleIsValid(statistics) && ItemPointerIsValid(&statistics->t_self);
}

}  // namespace

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
  const DrawTable table(sizes, size_count);
  count_ = count;
  tokens_ = tokens;
  draws_ = allocate<float>(static_cast<size_t>(count));
  slot_mask_ = 1;
  while (slot_mask_ < static_cast<uint32>(2 * count)) slot_mask_ = slot_mask_ * 2;
  slots_ = allocate<int>(slot_mask_);
  std::fill_n(slots_, slot_mask_, -1);
  --slot_mask_;
  for (int i = 0; i < count; ++i) {
    draws_[i] = static_cast<float>(table.draw_of(frequencies[i]));
    uint32 slot = static_cast<uint32>(tokens[i] >> 32) & slot_mask_;
    while (slots_[slot] >= 0) slot = (slot + 1) & slot_mask_;
    slots_[slot] = i;
  }
  rare_ = table.draw_of(rare_frequency(count, frequencies, average_size));
}

const SetSketch *set_sketch(HeapTuple statistics, TokenType type) {
  if (!can_be_kept(statistics)) return make_sketch(statistics, type);
  const KeptSketch identity = identify(statistics, type);
  if (const SetSketch *sketch = find_kept(identity)) return sketch;
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "simjoin: sketch of a column", ALLOCSET_DEFAULT_SIZES);
  MemoryContext caller = MemoryContextSwitchTo(context);
  SetSketch *sketch = make_sketch(statistics, type);
  MemoryContextSwitchTo(caller);
  keep(identity, context, sketch);
  return sketch;
}

SetShape sketch_shape(HeapTuple statistics, TokenType type, bool with_shared_tokens) {
  SetShape shape = {usual_size, usual_size * usual_frequency};
  if (!HeapTupleIsValid(statistics)) return shape;
  if (can_be_kept(statistics))
    if (const SetSketch *sketch = find_kept(identify(statistics, type)))
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
