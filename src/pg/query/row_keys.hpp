// Keys of any type that has an order: each is kept once, and stands behind a number.
#pragma once

#include "pg/base/named_arguments.hpp"
#include "pg/base/pg.hpp"
#include "pg/query/query_source.hpp"

extern "C" {
#include "access/tupdesc.h"
}

namespace simjoin::pg {

// The argument of a call that tells the type of a query's keys.
struct KeyArgument {
  const char *name;  // NULL where no argument tells the type
  Oid type;          // of the keys; InvalidOid where they are integers and returned as bigint
};

// Returns the argument of this name, whose type a column of the result has. A function without it returns
// integers.
KeyArgument key_argument(const NamedArguments &arguments, const char *name, Oid column_type);

// Which numbers keys get. They begin with 0.
enum class KeyNumbers : uint8_t {
  as_they_come,  // each key has the next number
  ordered,       // in the order of the keys, equal ones as they come
  distinct,      // the same, and equal keys are an error
  shared,        // the same, and equal keys have one number
};

// The keys of the rows of queries. Beyond key_share() of the memory limit of their context's
// computation they lie in temporary files.
struct RowKeys;

// Returns no keys yet, in the context; nullptr where the argument asks for bigint. Errors, naming `function`,
// where the type has no order.
RowKeys *create_row_keys(const KeyArgument &argument, KeyNumbers numbers, const char *function,
                         MemoryContext context);

// The same for the only query of a call, in whose order rows come back. The column of the result has the type
// of the argument `key`.
RowKeys *create_keys_as_they_come(const NamedArguments &arguments, Oid column_type, const char *function,
                                  MemoryContext context);

// Returns no keys yet, of the type and collation of these, which have been checked.
RowKeys *create_keys_like(const RowKeys &keys, KeyNumbers numbers, MemoryContext context);

// Returns whether keys are integers, which are their own numbers and are not added.
bool are_integers(const RowKeys *keys);

// Returns whether keys can be compared while parallel workers run.
bool are_parallel_safe(const RowKeys *keys);

// Returns what a computation's memory limit leaves beside the keys, in bytes.
size_t memory_beside(const RowKeys *keys, size_t limit);

// Errors where a column of a query does not hold such keys. Columns are checked before keys are added. The
// first one gives the keys their collation.
void check_key_column(RowKeys *keys, const FormData_pg_attribute *column);

// Adds the next key.
void add_key(RowKeys *keys, Datum key);

// Adds the id of the row, unless ids are integers. Returns the id if it is an integer, else the number that
// it has among keys that are numbered as they come.
int64 add_id(RowKeys *keys, const QueryRow &row);

// Ends the adding, and gives the number of each key, in the order in which they were added.
void number_keys(RowKeys *keys, int64 *numbers);

// Returns the key with this number, or the number itself as a bigint where `keys` is nullptr. The key is
// valid until the next call with the same reader, 0 or 1. Keys that are numbered as they come can be read
// while others are added.
Datum key_at(RowKeys *keys, int64 number, int reader);

// Returns the key with this number as text, for messages.
const char *key_text(RowKeys *keys, int64 number);

// Errors, naming `function`: rows have the same id, which is given as text.
[[noreturn]] void raise_repeated_key(const char *id, const char *function);

// Closes the temporary file of the keys, which may be nullptr. They cannot be used afterwards.
void close_row_keys(RowKeys *keys);

}  // namespace simjoin::pg
