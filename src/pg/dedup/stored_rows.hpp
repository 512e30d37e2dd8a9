// Rows of the parts of dedup views. Only here does a value of a part become memory. Whoever owns a part may
// have altered its columns and its rows. So the type of every value is checked, and that a refresh can have
// stored the value.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "executor/tuptable.h"
#include "storage/itemptr.h"
}

#include <span>

#include "core/base/fingerprint.hpp"
#include "core/lookup/token_order.hpp"

namespace simjoin::pg {

// The number of tokens that are put in order by their frequency. Any other token takes at most one in 65,536
// of all places of the rows. In a million rows of 20 tokens, at most 300 rows share it.
inline constexpr size_t most_frequent_tokens = size_t{1} << 16;

// A row that a query over a part has returned, or a scan of it.
struct StoredRow {
  TupleTableSlot *slot;
  const char *part;  // the part's name, for messages
};

// A row of the view's query as of the last refresh.
struct StoredPrint {
  int64 id;
  Fingerprint print;
};

// The key of a row, and its number in the parts.
struct StoredKey {
  int64 id;
  Datum key;  // in the row
};

// A similar pair of two rows; a < b are their ids.
struct StoredPair {
  int64 a;
  int64 b;
  double similarity;
};

// Codes of tokens, which the caller frees.
struct StoredCodes {
  std::span<const TokenCode> codes;
  void *memory;  // what to free, NULL where the row owns the codes
};

// A row's prefix, as the index has it.
struct StoredPrefix {
  int64 id;
  int64 size;
  StoredCodes entries;
};

// The same of a set with weights. Each entry has a mass.
struct StoredWeights {
  int64 id;
  double total;
  StoredCodes entries;
  std::span<const double> masses;
  void *memory;  // of the masses: what to free, NULL where the row owns them
};

// The order of the tokens, with the number of rows at the last refresh and at the time when the order was
// made.
struct StoredOrder {
  int64 rows;
  int64 ordered_rows;
  StoredCodes frequent;
};

// Integers that have changed: those from `first` to `last`, or anything.
struct StoredChange {
  bool anything;
  int64 first;
  int64 last;
};

// A row of the view itself. Its ids are bigints or keys, which are in the row.
struct StoredGroup {
  ItemPointerData place;
  int64 number;  // of the id
  Datum id;
  Datum group_id;
  bool is_representative;
  bool has_similarity;
  double similarity;
  int64 entity;  // 0 in a view without entities
};

// The entity that a row belonged to at the last refresh.
struct StoredEntity {
  int64 id;
  int64 entity;
};

// A verdict on two rows, by their ids in the parts; a <= b.
struct StoredVerdict {
  ItemPointerData place;
  int64 a;
  int64 b;
  bool same;
};

// Each function returns the columns that its comment names, from the first one on. Errors where no refresh
// can have stored the values.
int64 stored_id(const StoredRow &row);                 // (id)
StoredPrint stored_print(const StoredRow &row);        // (id, fingerprint)
StoredKey stored_key(const StoredRow &row, Oid type);  // (id, key of this type)
StoredPair stored_pair(const StoredRow &row);          // (a, b, similarity)
StoredPrefix stored_prefix(const StoredRow &row);      // (id, size, prefix)
StoredWeights stored_weights(const StoredRow &row);    // (id, total, prefix, masses)
StoredOrder stored_order(const StoredRow &row);        // (rows, ordered_rows, frequent)
StoredChange stored_change(const StoredRow &row);      // (first_id, last_id)
// (key of this type); false where it is NULL. Adds the bytes that the key takes in memory.
bool is_stored_key(const StoredRow &row, Oid type, size_t *bytes);
StoredEntity stored_entity(const StoredRow &row);    // (id, entity_id)
StoredVerdict stored_verdict(const StoredRow &row);  // (ctid, a, b, same)
// (ctid, number, id, group_id, is_representative, similarity, entity_id if asked for), with ids of this type
StoredGroup stored_group(const StoredRow &row, Oid type, bool has_entity);

void free_codes(const StoredCodes &codes);

// Errors: the part has a row that no refresh has stored.
[[noreturn]] void raise_damaged(const char *part);

}  // namespace simjoin::pg
