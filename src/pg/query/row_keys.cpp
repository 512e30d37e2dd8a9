#include "pg/query/row_keys.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/tuplesort.h"
#include "utils/typcache.h"
}

#include <algorithm>
#include <string_view>

#include "core/base/memory_shares.hpp"
#include "pg/base/computation_memory.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/rows/row_store.hpp"

namespace simjoin::pg {

struct RowKeys {
  KeyArgument argument;
  KeyNumbers numbers;
  const char *function;
  MemoryContext context;
  bool integers;
  int16 length;  // of the type, as in pg_type
  TypeCacheEntry *type;
  Oid collation;
  bool checked;            // a column was checked, so there is a collation
  int64 added;             // keys
  TupleDesc descriptor;    // of the keys that wait for their numbers: (key, place)
  TupleTableSlot *next;    // such a row
  Tuplesortstate *sorter;  // of these rows; NULL where keys are numbered as they come
  RowStore *store;         // by number
  RowReader readers[2];
};

namespace {

constexpr size_t cost_of_key = 500;  // in the units of InterruptCounter

TupleDesc describe(const RowKeys &keys, int columns) {
  TupleDesc descriptor = CreateTemplateTupleDesc(columns);
  TupleDescInitEntry(descriptor, 1, "key", keys.argument.type, -1, 0);
  if (columns > 1) TupleDescInitEntry(descriptor, 2, "place", INT8OID, -1, 0);
  return descriptor;
}

// Begins to sort rows (key, place).
void begin_sort(RowKeys *keys) {
  AttrNumber columns[] = {1, 2};
  Oid operators[] = {keys->type->lt_opr, Int8LessOperator}, collations[] = {keys->collation, InvalidOid};
  bool nulls_first[] = {false, false};
  const size_t kilobytes = key_share(memory_limit_of(keys->context, ordinary_memory)) / 1024;
  keys->descriptor = describe(*keys, 2);
  keys->next = MakeSingleTupleTableSlot(keys->descriptor, &TTSOpsVirtual);
  keys->sorter =
      tuplesort_begin_heap(keys->descriptor, 2, columns, operators, collations, nulls_first,
                           static_cast<int>(std::clamp<size_t>(kilobytes, 64, MAX_KILOBYTES)), nullptr, 0);
}

// Makes room for keys, now that their collation is known.
void begin_keys(RowKeys *keys, Oid collation) {
  MemoryContext old = MemoryContextSwitchTo(keys->context);
  keys->checked = true;
  keys->collation = collation;
  keys->store = create_row_store(keys->context, describe(*keys, 1),
                                 key_share(memory_limit_of(keys->context, ordinary_memory)));
  for (RowReader &reader : keys->readers) reader = {keys->store, nullptr, 0};
  if (keys->numbers != KeyNumbers::as_they_come) begin_sort(keys);
  MemoryContextSwitchTo(old);
}

// Returns whether values of the column's type are keys as they are.
bool fits(const RowKeys &keys, Oid column_type) {
  if (column_type == keys.argument.type) return true;
  if (keys.integers)
    return is_id_type(column_type) && get_typlen(column_type) <= keys.length &&
           get_typtype(keys.argument.type) != TYPTYPE_DOMAIN;
  return IsBinaryCoercible(column_type, keys.argument.type);
}

void append_key(const RowKeys &keys, Datum key) {
  bool isnull = false;
  if (keys.store->rows == PG_UINT32_MAX)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("%s: there are more than %u ids", keys.function, keys.store->rows)));
  append_row(keys.store, &key, &isnull);
}

[[noreturn]] void raise_no_order(const KeyArgument &argument, const char *function) {
  const bool named = argument.name != nullptr;
  ereport(ERROR,
          (errcode(ERRCODE_UNDEFINED_FUNCTION),
           errmsg("%s: %s of type %s, which has no order", function,
                  named ? psprintf("%s is", argument.name) : "the ids are", format_type_be(argument.type)),
           errhint("Cast the ids, for example to text, in the query%s.",
                   named ? psprintf(" and in %s", argument.name) : "")));
  pg_unreachable();
}

[[noreturn]] void raise_other_type(const RowKeys &keys, Oid type) {
  const char *name = keys.argument.name, *given = format_type_be(type);
  // Only the type of a key counts, but from_id is an id of a row.
  const bool is_key = name != nullptr && std::string_view(name).ends_with("key");
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                  errmsg("%s: a query returns ids of type %s, and %s of type %s", keys.function, given,
                         name == nullptr ? "they should be" : psprintf("%s is", name),
                         format_type_be(keys.argument.type)),
                  errhint("%s", name == nullptr
                                    ? "Cast the ids in the query."
                                    : psprintf(is_key ? "Give %s => NULL::%s, or cast the ids in the query."
                                                      : "Cast %s to %s, or the ids in the query.",
                                               name, given))));
  pg_unreachable();
}

const char *text_of(const RowKeys &keys, Datum key) {
  Oid output;
  bool is_varlena;
  getTypeOutputInfo(keys.argument.type, &output, &is_varlena);
  return OidOutputFunctionCall(output, key);
}

}  // namespace

KeyArgument key_argument(const NamedArguments &arguments, const char *name, Oid column_type) {
  return {name, arguments.has(name) ? column_type : InvalidOid};
}

RowKeys *create_row_keys(const KeyArgument &argument, KeyNumbers numbers, const char *function,
                         MemoryContext context) {
  if (!OidIsValid(argument.type)) return nullptr;
  auto *keys = static_cast<RowKeys *>(MemoryContextAllocZero(context, sizeof(RowKeys)));
  keys->argument = argument;
  keys->numbers = numbers;
  keys->function = function;
  keys->context = context;
  keys->integers = is_id_type(argument.type);
  keys->length = get_typlen(argument.type);
  keys->type =
      lookup_type_cache(argument.type, TYPECACHE_LT_OPR | TYPECACHE_CMP_PROC | TYPECACHE_CMP_PROC_FINFO);
  const bool has_order = OidIsValid(keys->type->lt_opr) && OidIsValid(keys->type->cmp_proc);
  if (numbers != KeyNumbers::as_they_come && !has_order) raise_no_order(argument, function);
  return keys;
}

RowKeys *create_keys_as_they_come(const NamedArguments &arguments, Oid column_type, const char *function,
                                  MemoryContext context) {
  return create_row_keys(key_argument(arguments, "key", column_type), KeyNumbers::as_they_come, function,
                         context);
}

RowKeys *create_keys_like(const RowKeys &keys, KeyNumbers numbers, MemoryContext context) {
  RowKeys *result = create_row_keys(keys.argument, numbers, keys.function, context);
  begin_keys(result, keys.collation);
  return result;
}

bool are_parallel_safe(const RowKeys *keys) {
  return are_integers(keys) || !OidIsValid(keys->type->cmp_proc) ||
         func_parallel(keys->type->cmp_proc) == PROPARALLEL_SAFE;
}

bool are_integers(const RowKeys *keys) {
  return keys == nullptr || keys->integers;
}

size_t memory_beside(const RowKeys *keys, size_t limit) {
  return are_integers(keys) ? limit : limit - key_share(limit);
}

void check_key_column(RowKeys *keys, const FormData_pg_attribute *column) {
  if (!fits(*keys, column->atttypid)) raise_other_type(*keys, column->atttypid);
  if (!keys->integers && !keys->checked) begin_keys(keys, column->attcollation);
}

void add_key(RowKeys *keys, Datum key) {
  const Datum given = key;
  // What lies elsewhere or compressed would be fetched again for each comparison.
  if (keys->length == -1) key = PointerGetDatum(PG_DETOAST_DATUM_PACKED(given));
  if (keys->sorter == nullptr) {
    append_key(*keys, key);
  } else {
    ExecClearTuple(keys->next);
    keys->next->tts_values[0] = key;
    keys->next->tts_values[1] = Int64GetDatum(keys->added);
    keys->next->tts_isnull[0] = keys->next->tts_isnull[1] = false;
    tuplesort_puttupleslot(keys->sorter, ExecStoreVirtualTuple(keys->next));
  }
  ++keys->added;
  if (key != given) pfree(DatumGetPointer(key));
}

int64 add_id(RowKeys *keys, const QueryRow &row) {
  if (are_integers(keys)) return row.id();
  add_key(keys, row.key());
  return keys->added - 1;
}

void number_keys(RowKeys *keys, int64 *numbers) {
  InterruptCounter interrupts;
  if (keys->sorter == nullptr) {
    for (int64 i = 0; i < keys->added; ++i) numbers[i] = i;
    return;
  }
  MemoryContext old = MemoryContextSwitchTo(keys->context);
  tuplesort_performsort(keys->sorter);
  TupleTableSlot *slots[2];
  for (TupleTableSlot *&slot : slots) slot = MakeSingleTupleTableSlot(keys->descriptor, &TTSOpsMinimalTuple);
  Datum last = 0;
  int64 count = 0;
  for (int64 i = 0; i < keys->added; ++i) {
    interrupts.add(cost_of_key);
    TupleTableSlot *slot = slots[i % 2];  // the last key stays in the other one
    if (!tuplesort_gettupleslot(keys->sorter, true, true, slot, nullptr)) elog(ERROR, "a key is missing");
    slot_getallattrs(slot);
    const Datum key = slot->tts_values[0];
    const bool repeated =
        i > 0 && keys->numbers != KeyNumbers::ordered &&
        DatumGetInt32(FunctionCall2Coll(&keys->type->cmp_proc_finfo, keys->collation, last, key)) == 0;
    if (repeated && keys->numbers == KeyNumbers::distinct)
      raise_repeated_key(text_of(*keys, key), keys->function);
    if (!repeated) {
      append_key(*keys, key);
      ++count;
    }
    numbers[DatumGetInt64(slot->tts_values[1])] = count - 1;
    last = key;
  }
  for (TupleTableSlot *slot : slots) ExecDropSingleTupleTableSlot(slot);
  tuplesort_end(keys->sorter);
  keys->sorter = nullptr;
  MemoryContextSwitchTo(old);
}

Datum key_at(RowKeys *keys, int64 number, int reader) {
  if (keys == nullptr) return Int64GetDatum(number);
  if (keys->integers) switch (keys->length) {
      case 2:
        return Int16GetDatum(static_cast<int16>(number));
      case 4:
        return Int32GetDatum(static_cast<int32>(number));
      default:
        return Int64GetDatum(number);
    }
  Datum key;
  bool isnull;
  read_row(&keys->readers[reader], static_cast<uint32_t>(number), &key, &isnull);
  return key;
}

const char *key_text(RowKeys *keys, int64 number) {
  if (are_integers(keys)) return psprintf(INT64_FORMAT, number);
  return text_of(*keys, key_at(keys, number, 0));
}

void raise_repeated_key(const char *id, const char *function) {
  ereport(ERROR, (errcode(ERRCODE_CARDINALITY_VIOLATION),
                  errmsg("%s: the id %s occurs more than once", function, id),
                  errhint("Give every row an id of its own, for example row_number() OVER ().")));
  pg_unreachable();
}

void close_row_keys(RowKeys *keys) {
  if (keys != nullptr && keys->store != nullptr) close_row_store(keys->store);
}

}  // namespace simjoin::pg
