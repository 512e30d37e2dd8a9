// What each of several thresholds would find among the rows of a query, as an SQL function.
#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
}

#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

#include "core/base/memory_shares.hpp"
#include "core/base/mix.hpp"
#include "core/dedup/equal_rows.hpp"
#include "core/dedup/similarity_profile.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/computation_memory.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/named_arguments.hpp"
#include "pg/computation/background.hpp"
#include "pg/computation/engine.hpp"
#include "pg/functions/join_functions.hpp"
#include "pg/query/query_source.hpp"
#include "pg/query/row_sample.hpp"

namespace simjoin::pg {
namespace {

constexpr const char *profile_function = "similarity_profile";
constexpr uint32 most_sampled_rows = 10'000'000;
constexpr uint32 most_examples = 20;
constexpr uint32 most_groups = 5;
constexpr size_t pairs_at_a_time = 1024;  // each with up to a hundred thresholds

// The arguments of a call.
struct ProfileCall {
  const char *query;
  double *thresholds;  // different ones that descend
  size_t levels;       // thresholds
  Measure measure;
  uint32 sample;  // 0 for all rows
  uint64 seed;
  uint32 examples;  // pairs of each kind that are shown of a threshold
  KeyArgument key;
  const char *tokenizer;  // nullptr where the query returns sets
};

// The first few items in their order.
template <class Item>
struct FirstItems {
  Item *items;
  size_t count, most;

  void add(const Item &item) {
    if (count == most && !(item < items[most - 1])) return;
    Item *end = items + count, *place = std::lower_bound(items, end, item);
    if (place < end && *place == item) return;
    if (count < most) {
      ++count;
      ++end;
    }
    std::move_backward(place, end - 1, end);
    *place = item;
  }
  const Item *begin() const { return items; }
  const Item *end() const { return items + count; }
};

// A pair that is shown. a < b.
struct Example {
  double similarity;
  int64 a, b;

  bool operator==(const Example &) const = default;
  bool operator<(const Example &other) const {
    return std::tie(similarity, a, b) < std::tie(other.similarity, other.a, other.b);
  }
};

// A pair by the random number that it draws.
struct DrawnPair {
  uint64 draw;
  Example pair;

  bool operator==(const DrawnPair &) const = default;
  bool operator<(const DrawnPair &other) const {
    return std::tie(draw, pair) < std::tie(other.draw, other.pair);
  }
};

// Rows with equal sets. Larger groups come first.
struct EqualGroup {
  int64 rows;
  int64 id;  // the smallest one

  bool operator==(const EqualGroup &) const = default;
  bool operator<(const EqualGroup &other) const {
    return std::tie(other.rows, id) < std::tie(rows, other.id);
  }
};

// What is shown of a threshold beside its numbers.
struct Shown {
  FirstItems<Example> pairs;    // the least similar ones that it adds to those of the threshold above
  FirstItems<DrawnPair> drawn;  // of all that it adds, as many as are shown when `pairs` are left out
  FirstItems<EqualGroup> groups;
};

// What is counted, and its memory.
struct ProfileWork {
  MemoryCounter memory;
  std::optional<EqualRows> equal;
  std::optional<SimilarityProfile> profile;
};

// A profile in the making. Everything belongs to the context of the join.
struct Profile {
  FunctionJoin *join;
  ProfileWork *work;
  RowSample *sample;  // nullptr where all rows are joined
  bool looks_at_all;  // rows, which may also be in the sample
  bool knows_equal;   // rows
  Shown *shown;       // by threshold
  uint64 seed;        // of drawn pairs
};

template <class Item>
FirstItems<Item> room_for(size_t most, MemoryContext context) {
  return {static_cast<Item *>(MemoryContextAllocZero(context, most * sizeof(Item))), 0, most};
}

// Returns a join whose engine is fed with the rows of the call, and with the sample as its right side.
Profile start_profile(const ProfileCall &call) {
  Profile profile = {};
  FunctionJoin *join = profile.join =
      create_function_join(profile_function, {call.measure, false}, call.sample == 0);
  join->left_key = call.key;
  join->tokenizer = call.tokenizer;
  const size_t limit = memory_limit_of(join->context);
  const size_t share = is_id_type(call.key.type) ? pair_share(limit) : pair_share_beside_keys(limit);
  profile.work = own(join->context, [share] {
    auto work = std::make_unique<ProfileWork>();
    work->memory.set_limit(
        share, {"the profile needs", "use fewer thresholds or a smaller sample", " that the join leaves"});
    work->equal.emplace(share / 4, work->memory);
    return work;
  });
  if (call.sample > 0)
    profile.sample = create_row_sample(call.sample, call.seed, join->context, &profile.work->memory);
  create_function_engine(join, call.thresholds[call.levels - 1]);
  join->left = read_side(join, Side::left, call.query, KeyNumbers::distinct, nullptr, profile.sample,
                         &*profile.work->equal);
  check_distinct_ids(join->left, profile_function);
  if (profile.sample != nullptr)
    feed_sample(profile.sample, join->engine, &join->spill_file, Side::right, join->left.token_type);
  profile.looks_at_all = profile.sample == nullptr || profile.sample->rows.size() == join->left.count();
  profile.knows_equal = profile.work->equal->known();
  if (!profile.knows_equal)
    ereport(NOTICE,
            (errmsg("%s: pairs of equal sets are not told apart, for want of memory", profile_function),
             errdetail("The query returns %zu rows, and the limit has room for %zu.", join->left.count(),
                       profile.work->equal->most_rows()),
             errhint("Raise simjoin.memory_limit.")));
  profile.shown = static_cast<Shown *>(MemoryContextAllocZero(join->context, call.levels * sizeof(Shown)));
  for (size_t i = 0; i < call.levels; ++i)
    profile.shown[i] = {room_for<Example>(call.examples, join->context),
                        room_for<DrawnPair>(size_t{2} * call.examples, join->context),
                        room_for<EqualGroup>(most_groups, join->context)};
  profile.seed = mix_bits(call.seed);
  return profile;
}

// Makes room for what is counted.
void begin_counting(const ProfileCall &call, const Profile &profile) {
  const auto rows = static_cast<uint32>(profile.join->left.count());
  const auto sampled = static_cast<uint32>(profile.looks_at_all ? 0 : profile.sample->rows.size());
  ProfileWork *work = profile.work;
  call_cpp([&] {
    work->profile.emplace(std::vector<double>(call.thresholds, call.thresholds + call.levels), work->memory);
  });
  run_interruptibly(profile.join->context, [=](WorkerPool &pool) {
    if (sampled == 0)
      work->profile->look_at_all(rows, pool.stop());
    else
      work->profile->look_at_sample(sampled, rows, pool.stop());
  });
}

// Returns whether the sets of the i-th pair of the batch, a left row and a row of the other side, are equal.
bool are_equal(const FunctionJoin &join, size_t i, Side other) {
  const uint32 overlap = join.batch->overlap[i];
  return overlap == join.engine->set_size(Side::left, join.batch->left[i]) &&
         overlap == join.engine->set_size(other, join.batch->right[i]);
}

// Counts the i-th pair of the batch.
void count_pair(const Profile &profile, size_t i) {
  const FunctionJoin &join = *profile.join;
  const uint32 left = join.batch->left[i], right = join.batch->right[i];
  const uint32 row = profile.sample == nullptr ? right : profile.sample->rows[right].row;
  // A sampled row meets itself, and where all rows are sampled, two rows meet twice.
  if (left == row || (profile.looks_at_all && profile.sample != nullptr && left > row)) return;
  const double similarity = pair_similarity(join, i);
  SimilarityProfile &counts = *profile.work->profile;
  if (profile.looks_at_all)
    counts.add_pair(left, row, similarity);
  else if (profile.knows_equal && are_equal(join, i, Side::right))
    counts.add_equal_partner(right, similarity);
  else
    counts.add_partner(right, similarity);
  const int64 a = std::min(join.left.ids[left], join.left.ids[row]);
  const int64 b = std::max(join.left.ids[left], join.left.ids[row]);
  const uint64 draw = mix_bits(mix_bits(profile.seed ^ static_cast<uint64>(a)) ^ static_cast<uint64>(b));
  Shown &shown = profile.shown[counts.place_of(similarity)];
  shown.pairs.add({similarity, a, b});
  shown.drawn.add({draw, {similarity, a, b}});
}

void count_pairs(const Profile &profile) {
  FunctionJoin *join = profile.join;
  while (next_batch(join->engine, &join->spill_file, join->batch))
    for (size_t begin = 0, end; begin < join->batch->size(); begin = end) {
      check_interrupts();
      end = std::min(begin + pairs_at_a_time, join->batch->size());
      call_cpp([&] {
        for (size_t i = begin; i < end; ++i) count_pair(profile, i);
      });
    }
}

// Counts the pairs of rows with equal sets, and finds their largest groups.
void count_equal_rows(const ProfileCall &call, const Profile &profile) {
  if (!profile.knows_equal) return;
  const FunctionJoin &join = *profile.join;
  EqualRows *equal = &*profile.work->equal;
  run_interruptibly(join.context, [equal](WorkerPool &pool) { equal->finish(pool.stop()); });
  SimilarityProfile &counts = *profile.work->profile;
  InterruptCounter interrupts;
  for (size_t begin = 0, end; begin < equal->size(); begin = end) {
    end = equal->end_of_equal(begin);
    interrupts.add(10 * (end - begin));
    const int64 size = join.engine->set_size(Side::left, equal->row(begin));
    if (end - begin == 1 || size == 0) continue;
    const double similarity = simjoin::similarity(call.measure, size, size, size);
    counts.add_equal_rows(end - begin, similarity);
    int64 id = join.left.ids[equal->row(begin)];
    for (size_t i = begin; i < end; ++i) id = std::min(id, join.left.ids[equal->row(i)]);
    const size_t place = counts.place_of(similarity);
    if (place < call.levels) profile.shown[place].groups.add({static_cast<int64>(end - begin), id});
  }
  for (size_t i = 1; i < call.levels; ++i)
    for (const EqualGroup &group : profile.shown[i - 1].groups) profile.shown[i].groups.add(group);
}

// Appends an id to a text in JSON: a number, or another key as its text.
void append_id(RowKeys *keys, int64 id, StringInfo json) {
  const char *text = key_text(keys, id);
  if (are_integers(keys))
    appendStringInfoString(json, text);
  else
    escape_json(json, text);
}

void append_item(RowKeys *keys, const Example &pair, StringInfo json) {
  appendStringInfoString(json, "{\"a\": ");
  append_id(keys, pair.a, json);
  appendStringInfoString(json, ", \"b\": ");
  append_id(keys, pair.b, json);
  appendStringInfo(json, ", \"similarity\": %s}", float8out_internal(pair.similarity));
}

void append_item(RowKeys *keys, const EqualGroup &group, StringInfo json) {
  appendStringInfoString(json, "{\"id\": ");
  append_id(keys, group.id, json);
  appendStringInfo(json, ", \"rows\": " INT64_FORMAT "}", group.rows);
}

// Returns the items as jsonb: an array of objects.
template <class Items>
Datum to_jsonb(const Items &items, RowKeys *keys) {
  StringInfoData json;
  initStringInfo(&json);
  appendStringInfoChar(&json, '[');
  for (const auto &item : items) {
    if (&item != items.begin()) appendStringInfoString(&json, ", ");
    append_item(keys, item, &json);
  }
  appendStringInfoChar(&json, ']');
  return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}

// Leaves out of the drawn pairs what is among the least similar ones, and what is too much.
FirstItems<Example> drawn_beside(const Shown &shown) {
  FirstItems<Example> beside = room_for<Example>(shown.pairs.most, CurrentMemoryContext);
  for (const DrawnPair &drawn : shown.drawn)
    if (beside.count < beside.most && !std::binary_search(shown.pairs.begin(), shown.pairs.end(), drawn.pair))
      beside.items[beside.count++] = drawn.pair;
  return beside;
}

Datum number(uint64 number) {
  return Int64GetDatum(static_cast<int64>(number));
}

void return_levels(const ProfileCall &call, const Profile &profile, ResultRows *result) {
  for (size_t i = 0; i < call.levels; ++i) {
    check_interrupts();
    const ProfileLevel level = profile.work->profile->next_level();
    const Shown &shown = profile.shown[i];
    RowKeys *keys = profile.join->left.keys;
    const ResultValue unknown(nullptr);
    result->add({Float8GetDatum(call.thresholds[i]), number(level.pairs), number(level.pairs_error),
                 profile.knows_equal ? ResultValue(number(level.equal_pairs)) : unknown, number(level.rows),
                 number(level.rows_error), level.groups ? ResultValue(number(*level.groups)) : unknown,
                 to_jsonb(shown.pairs, keys),
                 profile.knows_equal ? ResultValue(to_jsonb(shown.groups, keys)) : unknown,
                 to_jsonb(drawn_beside(shown), keys)});
  }
}

// Gives the call its thresholds. Errors where they are not valid.
void read_thresholds(ArrayType *array, ProfileCall *call) {
  check_plain_array(array, profile_function, "thresholds",
                    "Use array_remove(thresholds, NULL) to remove them.");
  const auto count = static_cast<size_t>(ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)));
  if (count < 1 || count > SimilarityProfile::most_thresholds)
    raise_argument(
        profile_function, "the number of thresholds", psprintf("%zu", count),
        psprintf("Give 1 to %zu thresholds, as in '{0.9,0.8,0.7}'.", SimilarityProfile::most_thresholds));
  call->thresholds = allocate<double>(count);
  std::copy_n(reinterpret_cast<const double *>(ARR_DATA_PTR(array)), count, call->thresholds);
  for (size_t i = 0; i < count; ++i)
    check_similarity(call->thresholds[i], call->measure, profile_function, "a threshold");
  std::sort(call->thresholds, call->thresholds + count, std::greater<>());
  call->levels =
      static_cast<size_t>(std::unique(call->thresholds, call->thresholds + count) - call->thresholds);
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_similarity_profile);
Datum simjoin_similarity_profile(PG_FUNCTION_ARGS) {
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null(profile_function, {"sample", "key", "tokens"});
  ProfileCall call = {};
  call.query = arguments.string("query");
  call.measure = symmetric_measure_by_name(arguments.string("measure"), profile_function);
  read_thresholds(arguments.array("thresholds"), &call);
  if (!arguments.is_null("sample")) {
    check_count(arguments.integer("sample"), most_sampled_rows, profile_function, "sample",
                "Give a number of rows from 1 to %u, or NULL for all rows.");
    call.sample = static_cast<uint32>(arguments.integer("sample"));
  }
  call.seed = static_cast<uint64>(arguments.bigint("seed"));
  check_count(arguments.integer("pairs_shown"), most_examples, profile_function, "pairs_shown",
              "Give a number of pairs from 1 to %u.");
  call.examples = static_cast<uint32>(arguments.integer("pairs_shown"));
  const Oid key_type = arguments.type("key");
  call.key = {"key", OidIsValid(key_type) ? key_type : INT8OID};
  call.tokenizer = arguments.optional_string("tokens");

  const Profile profile = start_profile(call);
  begin_counting(call, profile);
  count_pairs(profile);
  count_equal_rows(call, profile);
  return_levels(call, profile, &result);
  end_join(profile.join);
  return 0;
}
}

}  // namespace simjoin::pg
