#include "pg/dedup/affected.hpp"

extern "C" {
#include "utils/builtins.h"
#include "utils/lsyscache.h"
}

#include <algorithm>
#include <memory>

#include "core/base/memory_shares.hpp"
#include "pg/base/query_rows.hpp"
#include "pg/base/relation_names.hpp"
#include "pg/base/settings.hpp"
#include "pg/dedup/refresh.hpp"

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
  AffectedPairs() {
    memory.set_limit(pair_share(Settings::memory_limit()),
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

// Gives a row the next place in the grouping.
void place_row(Affected *affected, int64 id, uint32_t number) {
  affected->places[number] = static_cast<uint32_t>(affected->count);
  affected->ids[affected->count++] = id;
}

// Gives the affected rows their places in the order of the query.
void place_rows_in_order(Affected *affected, const DedupDefinition &definition, IdList ids) {
  const char *id = quote_identifier(get_attname(definition.source, 1, false));
  const char *source = relation_name(definition.source);
  run_over_part(
      psprintf("SELECT %s::bigint FROM %s WHERE %s OPERATOR(pg_catalog.=) ANY ($1)", id, source, id), source,
      refresh_function,
      [&](const StoredRow &row) {
        const int64 id = stored_id(row);
        const uint32_t number = known_number_of(*affected, id);
        if (affected->places[number] != no_place) raise_repeated_id(id, refresh_function);
        place_row(affected, id, number);
      },
      ids_parameter(ids));
}

}  // namespace

Affected *start_affected(const DedupState &state, bool order_counts) {
  MemoryContext old = MemoryContextSwitchTo(state.context);
  auto *affected = static_cast<Affected *>(palloc0(sizeof(Affected)));
  affected->rows = own(state.context, [] { return std::make_unique<RowNumbers>(); });
  affected->pairs = own(state.context, [] { return std::make_unique<AffectedPairs>(); });
  for (const DedupRow &row : state.rows)
    if (order_counts || row.state != RowState::kept) number_of(*affected, row.id);
  for (const int64 id : state.stale) number_of(*affected, id);
  read_pairs_of(*affected, state.stale, state.pairs_table, false);
  MemoryContextSwitchTo(old);
  return affected;
}

void close_affected(Affected *affected, const char *pairs_table) {
  for (size_t done = 0; done < numbers_in(*affected);) {
    const IdList ids = ids_from(*affected, done);
    done += ids.size();
    read_pairs_of(*affected, ids, pairs_table, true);
    pfree(const_cast<int64 *>(ids.data()));
  }
}

uint32_t known_number_of(const Affected &affected, int64 id) {
  const uint32_t number = number_of(affected, id);
  if (number >= affected.known) raise_repeated_id(id, refresh_function);
  return number;
}

void place_rows(Affected *affected, const DedupDefinition &definition, IdList removed, bool order_counts) {
  affected->known = numbers_in(*affected);
  affected->places = allocate<uint32_t>(affected->known);
  affected->ids = allocate<int64>(affected->known);
  std::fill_n(affected->places, affected->known, no_place);
  const IdList ids = ids_from(*affected, 0);
  if (order_counts) return place_rows_in_order(affected, definition, ids);
  for (size_t i = 0; i < ids.size(); ++i)
    if (!std::binary_search(removed.begin(), removed.end(), ids[i]))
      place_row(affected, ids[i], static_cast<uint32_t>(i));
}

RowGrouping *group_affected(const Affected &affected, const GroupingOptions &options, int64 all_rows,
                            MemoryContext context) {
  RowGrouping *grouping = start_grouping(options, create_grouping_work(context), affected.ids, affected.count,
                                         refresh_function, context);
  const Buffer<NumberedPair> &pairs = affected.pairs->pairs;
  for (size_t begin = 0; begin < pairs.size(); begin += pairs_between_looks) {
    CHECK_FOR_INTERRUPTS();
    call_cpp([&] {
      const size_t end = std::min(begin + pairs_between_looks, pairs.size());
      for (size_t i = begin; i < end; ++i) {
        const NumberedPair &pair = pairs[i];
        const uint32_t a = affected.places[pair.a], b = affected.places[pair.b];
        if (a != no_place && b != no_place) grouping->work->grouper->add_pair(a, b, pair.similarity);
      }
    });
  }
  form_groups(grouping, static_cast<size_t>(all_rows));
  return grouping;
}

IdList ids_of(const Affected &affected) {
  return ids_from(affected, 0);
}

}  // namespace simjoin::pg
