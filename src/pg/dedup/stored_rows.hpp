// Rows of the parts of dedup views: the only place where a value of one becomes memory. Whoever owns a part
// may have altered its columns and its rows, so the type of every value is checked, and whether it is one
// that a refresh stores.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "executor/tuptable.h"
#include "storage/itemptr.h"
}

#include <span>

#include "core/base/fingerprint.hpp"
#include "core/dedup/token_order.hpp"

namespace simjoin::pg {

// Tokens that are put in order by their frequency. A token of none of these is in at most one in 65,536 of
// all places of the rows, so that a row in a million of 20 tokens shares it with 300 others at most.
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

// A similar pair of two rows; a < b are their ids.
struct StoredPair {
  int64 a;
  int64 b;
  double similarity;
};

// Codes of tokens, which are the caller's to free.
struct StoredCodes {
  std::span<const TokenCode> codes;
  void *memory;  // NULL where the row has it
};

// What an index knows of a row.
struct StoredPrefix {
  int64 id;
  int64 size;
  StoredCodes entries;
};

// The order of the tokens; how many rows there were at the last refresh, and when it was made.
struct StoredOrder {
  int64 rows;
  int64 ordered_rows;
  StoredCodes frequent;
};

// Ids that have changed: those from `first` to `last`, or anything.
struct StoredChange {
  bool anything;
  int64 first;
  int64 last;
};

// A row of the view itself.
struct StoredGroup {
  ItemPointerData place;
  int64 id;
  int64 group_id;
  bool is_representative;
  bool has_similarity;
  double similarity;
};

// Each takes the columns that it names, from the first one on. Errors where a refresh would not have stored
// that.
int64 stored_id(const StoredRow &row);             // (id)
StoredPrint stored_print(const StoredRow &row);    // (id, fingerprint)
StoredPair stored_pair(const StoredRow &row);      // (a, b, similarity)
StoredPrefix stored_prefix(const StoredRow &row);  // (id, size, prefix)
StoredOrder stored_order(const StoredRow &row);    // (rows, ordered_rows, frequent)
StoredChange stored_change(const StoredRow &row);  // (first_id, last_id)
StoredGroup stored_group(const StoredRow &row);    // (ctid, id, group_id, is_representative, similarity)

void free_codes(const StoredCodes &codes);

// Errors: the part has a row that no refresh has stored.
[[noreturn]] void raise_damaged(const char *part);

}  // namespace simjoin::pg
