#include "pg/dedup/affected.hpp"

extern "C" {
#include "utils/builtins.h"
#include "utils/lsyscache.h"
}

#include <algorithm>
#include <memory>

#include "core/base/memory_shares.hpp"
#include "pg/base/computation_memory.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/relation_names.hpp"
#include "pg/dedup/id_queries.hpp"
#include "pg/dedup/refresh.hpp"
#include "pg/functions/verdicts.hpp"
#include "pg/query/query_rows.hpp"

namespace simjoin::pg {
namespace {

constexpr size_t pairs_between_looks = size_t{1} << 20;  // for interrupts

}  // namespace

// A similar pair of rows, by their numbers.
struct NumberedPair {
  uint32_t a;
  uint32_t b;
  double similarity;
};

struct AffectedPairs {
  AffectedPairs(size_t limit, bool beside_keys) {
    memory.set_limit(beside_keys ? pair_share_beside_keys(limit) : pair_share(limit),
                     {"the pairs of changed rows and their groups need",
                      "fill the view again with REFRESH MATERIALIZED VIEW", " that the join leaves"});
  }

  MemoryCounter memory;
  Buffer<NumberedPair> pairs{memory};
};

namespace {

uint32_t number_of(const Affected &affected, int64 id) {
  return call_cpp([&] { return affected.rows->numbers.number_of(id); });
}

size_t numbers_in(const Affected &affected) {
  return affected.rows->numbers.count();
}

// Returns a copy of the ids with the numbers from `begin` on.
IdList ids_from(const Affected &affected, size_t begin) {
  const size_t count = numbers_in(affected) - begin;
  auto *ids = allocate<int64>(count);
  std::copy_n(affected.rows->numbers.nodes().data() + begin, count, ids);
  return {ids, count};
}

// Adds the rows that have a stored pair with one of these. With `keep_pairs` the pairs are added as well.
void read_pairs_of(const Affected &affected, IdList ids, const char *pairs_table, bool keep_pairs) {
  const char *query = psprintf(
      "SELECT a, b, similarity FROM ONLY %s WHERE a OPERATOR(pg_catalog.=) ANY ($1) OR b "
      "OPERATOR(pg_catalog.=) ANY ($1)",
      pairs_table);
  run_for_ids(query, pairs_table, ids, refresh_function, [&](const StoredRow &row) {
    const StoredPair pair = stored_pair(row);
    const uint32_t a = number_of(affected, pair.a), b = number_of(affected, pair.b);
    if (keep_pairs) call_cpp([&] { affected.pairs->pairs.push_back({a, b, pair.similarity}); });
  });
}

// Adds the rows that are the same as one of these by verdicts.
void add_same_rows(const Affected &affected, IdList ids, const ViewVerdicts &verdicts) {
  for (const int64 id : ids) {
    check_interrupts();
    for (const SameRow &row : same_as(verdicts, id)) number_of(affected, row.other);
  }
}

// Returns the row of the grouping with this id, or no_place where none has it.
uint32_t place_of_id(const Affected &affected, int64 id) {
  const uint32_t number = affected.rows->numbers.find(id);
  return number == NodeNumbers::no_number ? no_place : affected.places[number];
}

// Gives a row the next place in the grouping.
void place_row(Affected *affected, int64 id, uint32_t number) {
  affected->places[number] = static_cast<uint32_t>(affected->count);
  affected->ids[affected->count++] = id;
}

// Takes the number of a row of the query and, where ids are keys, its key.
struct PlaceReader {
  void start(TupleDesc columns) {
    if (affected->keys != nullptr) check_key_column(affected->keys, TupleDescAttr(columns, 1));
  }
  void take(const QueryRow &row) {
    const StoredRow stored = {row.slot, source};
    const int64 id = stored_id(stored);
    const uint32_t number = known_number_of(*affected, id);
    if (affected->places[number] != no_place) raise_repeated_id(id, refresh_function);
    place_row(affected, id, number);
    if (affected->keys != nullptr) add_key(affected->keys, stored_key(stored, key_type).key);
  }

  Affected *affected;
  const char *source;
  Oid key_type;
};

// Adds the verdicts on affected rows to the grouping.
void bind_affected(const Affected &affected, const ViewVerdicts &verdicts, RowGrouping *grouping) {
  GrowingArray<RowVerdict> bound(grouping->context);
  for (const StoredVerdict &verdict : verdicts.all) {
    check_interrupts();
    const uint32_t a = place_of_id(affected, verdict.a), b = place_of_id(affected, verdict.b);
    if (a != no_place && b != no_place) bound.append({a, b, verdict.same});
  }
  add_verdicts(bound, grouping);
}

// Gives the affected rows places as the query returns them. With `order_counts` a single statement returns
// all of them, in order. It fetches no more keys into an array than others, and rather reads all rows.
void place_rows_of_query(Affected *affected, const DedupDefinition &definition, IdList ids,
                         bool order_counts) {
  const char *id = psprintf("x.%s", quote_identifier(get_attname(definition.source, 1, false)));
  PlaceReader reader = {affected, relation_name(definition.source), definition.key_type};
  const char *number = number_of(definition, id);
  const char *condition = order_counts && definition.has_keys() && ids.size() > keys_at_once
                              ? psprintf("%s OPERATOR(pg_catalog.=) ANY ($1)", number)
                              : is_of_numbers(definition, id);
  const char *query = psprintf("SELECT %s%s%s FROM %s x WHERE %s", number, definition.has_keys() ? ", " : "",
                               definition.has_keys() ? id : "", reader.source, condition);
  for_parts(
      ids, [&](ParamListInfo some) { read_query(query, &reader, refresh_function, some); },
      order_counts ? std::max<size_t>(ids.size(), 1) : keys_at_once);
  if (definition.has_keys()) number_keys(affected->keys, affected->ids);
}

}  // namespace

Affected *start_affected(const DedupState &state, bool order_counts) {
  MemoryContext old = MemoryContextSwitchTo(state.context);
  auto *affected = static_cast<Affected *>(palloc0(sizeof(Affected)));
  const size_t limit = memory_limit_of(state.context);
  affected->rows = own(state.context, [&] { return std::make_unique<RowNumbers>(limit); });
  const bool has_keys = state.keys != nullptr;
  affected->pairs = own(state.context, [&] { return std::make_unique<AffectedPairs>(limit, has_keys); });
  affected->keys = create_row_keys({nullptr, state.definition->key_type}, KeyNumbers::distinct,
                                   refresh_function, state.context);
  for (const DedupRow &row : state.rows)
    if (order_counts || has_keys || row.state != RowState::kept) number_of(*affected, row.id);
  for (const int64 id : state.stale) number_of(*affected, id);
  read_pairs_of(*affected, state.stale, state.pairs_table, false);
  MemoryContextSwitchTo(old);
  return affected;
}

void add_judged_rows(Affected *affected, const ViewVerdicts &verdicts) {
  for (const int64 id : verdicts.changed_rows) number_of(*affected, id);
}

void close_affected(Affected *affected, const char *pairs_table, const ViewVerdicts *verdicts) {
  for (size_t done = 0; done < numbers_in(*affected);) {
    const IdList ids = ids_from(*affected, done);
    done += ids.size();
    read_pairs_of(*affected, ids, pairs_table, true);
    if (verdicts != nullptr) add_same_rows(*affected, ids, *verdicts);
    pfree(const_cast<int64 *>(ids.data()));
  }
}

uint32_t known_number_of(const Affected &affected, int64 id) {
  const uint32_t number = number_of(affected, id);
  if (number >= affected.known) raise_repeated_id(id, refresh_function);
  return number;
}

size_t place_rows(Affected *affected, const DedupDefinition &definition, IdList removed, bool order_counts) {
  affected->known = numbers_in(*affected);
  affected->places = allocate<uint32_t>(affected->known);
  affected->ids = allocate<int64>(affected->known);
  std::fill_n(affected->places, affected->known, no_place);
  const IdList ids = ids_from(*affected, 0);
  if (order_counts || definition.has_keys()) {
    place_rows_of_query(affected, definition, ids, order_counts);
    return affected->count;
  }
  for (size_t i = 0; i < ids.size(); ++i)
    if (!std::binary_search(removed.begin(), removed.end(), ids[i]))
      place_row(affected, ids[i], static_cast<uint32_t>(i));
  return 0;
}

RowGrouping *group_affected(const Affected &affected, const GroupingOptions &options,
                            const ViewVerdicts *verdicts, int64 all_rows, MemoryContext context) {
  RowGrouping *grouping =
      start_grouping(options, create_grouping_work(options.grouping, context, affected.keys != nullptr),
                     affected.ids, affected.count, refresh_function, context, affected.keys);
  const Buffer<NumberedPair> &pairs = affected.pairs->pairs;
  for (size_t begin = 0; begin < pairs.size(); begin += pairs_between_looks) {
    check_interrupts();
    call_cpp([&] {
      const size_t end = std::min(begin + pairs_between_looks, pairs.size());
      for (size_t i = begin; i < end; ++i) {
        const NumberedPair &pair = pairs[i];
        const uint32_t a = affected.places[pair.a], b = affected.places[pair.b];
        if (a != no_place && b != no_place) grouping->work->add_pair(a, b, pair.similarity);
      }
    });
  }
  if (verdicts != nullptr) bind_affected(affected, *verdicts, grouping);
  form_groups(grouping, static_cast<size_t>(all_rows));
  if (verdicts != nullptr) report_verdicts(*grouping);
  return grouping;
}

IdList ids_of(const Affected &affected) {
  return ids_from(affected, 0);
}

}  // namespace simjoin::pg
