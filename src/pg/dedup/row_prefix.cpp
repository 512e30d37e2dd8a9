#include "pg/dedup/row_prefix.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/builtins.h"
}

#include <algorithm>
#include <memory>

#include "core/base/interruption.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/index/set_keys.hpp"
#include "pg/sets/arrays.hpp"
#include "pg/sets/weighted_set.hpp"

namespace simjoin::pg {
namespace {

// Returns the tokens of a set that have weight. Tokens without weight make no sets similar.
WeightedKeys weighted_keys(const PrefixOrder &order, const SetView &set, const float *weights) {
  auto *tokens = allocate<WeightedKey>(set.count);
  size_t count = 0;
  with_weighted_tokens(set, weights, [&](auto distinct, std::span<const double> sums) {
    std::vector<TokenKey> keys(distinct.size());
    for (size_t begin = 0; begin < keys.size(); begin += token_block) {
      check_interruption();
      order.tokens->keys_of(distinct.subspan(begin, std::min(token_block, keys.size() - begin)),
                            keys.data() + begin);
    }
    for (size_t i = 0; i < keys.size(); ++i) {
      check_interruption_at(i);
      if (sums[i] > 0) tokens[count++] = {keys[i], order.weighted->mass(sums[i])};
    }
  });
  sort_interruptibly(
      tokens, count, [](const WeightedKey &a, const WeightedKey &b) { return a.key < b.key; },
      [](const WeightedKey &) { return size_t{1}; });
  return call_cpp([&] { return order.weighted->set_of({tokens, count}); });
}

// Calls body(elements, begin) for one block of the elements after the other. Processes interrupts.
template <class T, class Body>
void for_blocks(std::span<T> elements, Body &&body) {
  for (size_t begin = 0; begin < elements.size(); begin += token_block) {
    check_interrupts();
    body(elements.subspan(begin, std::min(token_block, elements.size() - begin)), begin);
  }
}

}  // namespace

PrefixOrder create_order(const DedupDefinition &definition, std::span<const TokenCode> frequent,
                         MemoryContext context) {
  const RowMeasure measure = measure_of(definition, "dedup view");
  const Bounds bounds(measure.measure, definition.threshold);
  PrefixOrder order = {own(context, [&] { return std::make_unique<TokenOrder>(frequent, bounds); }), nullptr};
  if (measure.weighted)
    order.weighted = own(
        context, [&] { return std::make_unique<WeightedPrefixes>(measure.measure, definition.threshold); });
  return order;
}

RowPrefix row_prefix(const DedupState &state, const PrefixOrder &order, TupleTableSlot *slot) {
  RowPrefix prefix = {};
  with_set(state, slot, [&](const SetView &set, const float *weights) {
    if (order.weighted == nullptr)
      prefix.plain = prefix_of(*order.tokens, set);
    else
      prefix.weighted = weighted_keys(order, set, weights);
  });
  return prefix;
}

PrefixColumns columns_of(const RowPrefix &prefix, const PrefixOrder &order) {
  if (order.weighted == nullptr) {
    const auto codes = make_array<int32>(prefix.plain.keys.size());
    for_blocks(prefix.plain.keys, [&](auto keys, size_t begin) {
      order.tokens->entries_of({prefix.plain.size, keys}, codes.elements + begin);
    });
    return {{Int32GetDatum(static_cast<int32>(prefix.plain.size)), codes.datum()}, 2};
  }
  const auto codes = make_array<int32>(prefix.weighted.prefix);
  const auto masses = make_array<float8>(prefix.weighted.prefix);
  const auto tokens = prefix.weighted.tokens.first(prefix.weighted.prefix);
  for_blocks(tokens, [&](auto some, size_t begin) {
    order.weighted->entries_of({prefix.weighted.total, some, some.size()}, codes.elements + begin,
                               masses.elements + begin);
  });
  return {{Float8GetDatum(prefix.weighted.total), codes.datum(), masses.datum()}, 3};
}

void free_prefix(const RowPrefix &prefix, const PrefixColumns &columns) {
  free_keys(prefix.plain);
  if (prefix.weighted.tokens.data() != nullptr)
    pfree(const_cast<WeightedKey *>(prefix.weighted.tokens.data()));
  for (int i = 1; i < columns.count; ++i) pfree(DatumGetPointer(columns.values[i]));
}

const char *query_by_range(const DedupState &state, Oid *range_type) {
  const bool weighted = state.measure.weighted;
  *range_type = weighted ? FLOAT8OID : INT4OID;
  const char *range = weighted ? "total" : "size";
  return psprintf(
      "SELECT id, %s, prefix%s FROM ONLY %s WHERE %s OPERATOR(pg_catalog.>=) $1 AND %s "
      "OPERATOR(pg_catalog.<=) $2",
      range, weighted ? ", masses" : "", state.rows_table, range, range);
}

void range_of(const RowPrefix &prefix, const PrefixOrder &order, const Bounds &bounds, Datum *range) {
  if (order.weighted == nullptr) {
    range[0] = Int32GetDatum(static_cast<int32>(bounds.min_partner(prefix.plain.size)));
    range[1] = Int32GetDatum(static_cast<int32>(bounds.max_partner(prefix.plain.size, PG_INT32_MAX)));
  } else {
    range[0] = Float8GetDatum(order.weighted->least_partner(prefix.weighted.total));
    range[1] = Float8GetDatum(order.weighted->most_partner(prefix.weighted.total));
  }
}

std::optional<std::span<const PrefixLookup>> lookups_of(const RowPrefix &prefix, const PrefixOrder &order,
                                                        size_t most) {
  return call_cpp([&] {
    return order.weighted == nullptr ? order.tokens->lookups(prefix.plain, most)
                                     : order.weighted->lookups(prefix.weighted, most);
  });
}

bool may_be_similar(const RowPrefix &prefix, const PrefixOrder &order, const StoredRow &row, int64 *id) {
  bool result;
  if (order.weighted == nullptr) {
    const StoredPrefix stored = stored_prefix(row);
    *id = stored.id;
    result = call_cpp([&] {
      return order.tokens->may_be_similar(prefix.plain, {stored.size, stored.entries.codes});
    });
    free_codes(stored.entries);
  } else {
    const StoredWeights stored = stored_weights(row);
    *id = stored.id;
    result = order.weighted->may_be_similar({stored.total, stored.entries.codes, stored.masses});
    free_codes(stored.entries);
    if (stored.memory != nullptr) pfree(stored.memory);
  }
  return result;
}

}  // namespace simjoin::pg
