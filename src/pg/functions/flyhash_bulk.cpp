// FlyHashes of the rows of a query, on all threads or on a GPU.
#include "pg/functions/flyhash.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/memutils.h"
}

#include <algorithm>
#include <memory>

#include "core/flyhash/flyhash_bulk.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/growing_array.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/named_arguments.hpp"
#include "pg/base/settings.hpp"
#include "pg/computation/gpu_notices.hpp"
#include "pg/computation/steps.hpp"
#include "pg/computation/watch.hpp"
#include "pg/query/query_source.hpp"
#include "pg/query/result_rows.hpp"
#include "pg/query/row_columns.hpp"
#include "pg/rows/row_context.hpp"
#include "pg/sets/arrays.hpp"

namespace simjoin::pg {
namespace {

constexpr const char *flyhash_function = "flyhash_signatures";

// Takes the rows of a query, and puts their hashes into the call's result.
struct VectorReader {
  void start(TupleDesc columns);
  void take(const QueryRow &row);

  FlyArguments arguments;
  RowKeys *keys;
  ResultRows *result;
  MemoryContext context;
  MemoryContext row_context;  // of one row, in or out
  GrowingArray<int64> ids;    // of the hasher's vectors
  BulkFlyHasher *hasher;      // null until the first vector tells the shape
  FlyShape shape;
};

void VectorReader::start(TupleDesc columns) {
  if (columns->natts == 2 && is_of_kind(TupleDescAttr(columns, 1)->atttypid, ColumnKind::reals) &&
      check_id_column(columns, keys))
    return;
  raise_columns(
      columns, flyhash_function, "a query must return two columns, an id and a vector (real[])",
      keys == nullptr && columns->natts > 0 && !is_id_type(TupleDescAttr(columns, 0)->atttypid)
          ? "Tell the type of ids that are not integers by the argument key."
          : "Name the columns and cast where necessary, as in SELECT id, vector::real[] FROM images.");
}

// Hashes the vectors that wait and returns them.
void finish_round(VectorReader *reader) {
  BulkFlyHasher *hasher = reader->hasher;
  if (reader->ids.empty()) return;
  run_to_end(hasher);
  const auto positions = make_array<int32>(reader->shape.winners);
  for (size_t i = 0; i < hasher->vectors(); ++i) {
    check_interrupts();
    std::copy_n(hasher->winners(i).data(), reader->shape.winners, positions.elements);
    reader->result->add({key_at(reader->keys, reader->ids[i], 0), positions.datum()});
  }
  pfree(positions.array);
  hasher->clear();
  reader->ids.clear();
}

// Makes the hasher for vectors like the first one.
void start_hasher(VectorReader *reader, uint32_t dimension) {
  reader->shape = fly_shape(reader->arguments, dimension, flyhash_function);
  prepare_gpu_use();
  reader->hasher = own(reader->context, [&] {
    return std::make_unique<BulkFlyHasher>(reader->shape, Settings::device(), Settings::gpu_memory_limit(),
                                           Settings::cpu_threads());
  });
}

// Hands a row's vector to the hasher.
void add_vector(VectorReader *reader, int64 id, ArrayType *array) {
  const VectorView vector = view_vector(array, flyhash_function);
  if (reader->hasher == nullptr) start_hasher(reader, vector.dimension);
  if (vector.dimension != reader->shape.dimension)
    ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                    errmsg("%s: a vector of %u elements follows one of %u", flyhash_function,
                           vector.dimension, reader->shape.dimension),
                    errhint("All vectors of a call have the same number of elements.")));
  reader->ids.append(id);
  call_cpp([&] { reader->hasher->add(vector.values); });
}

void VectorReader::take(const QueryRow &row) {
  const int64 id = add_id(keys, row);
  Datum vector;
  if (!row.get(1, &vector)) return result->add({key_at(keys, id, 0), nullptr});
  in_row_context(row_context, [&] {
    add_vector(this, id, DatumGetArrayTypeP(vector));
    if (hasher->full()) finish_round(this);
  });
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_flyhash_signatures);
Datum simjoin_flyhash_signatures(PG_FUNCTION_ARGS) {
  ResultRows result(fcinfo);
  FlyArguments arguments;
  NamedArguments(fcinfo).refuse_null(flyhash_function, {"winners", "projection", "key"});
  fly_arguments(fcinfo, flyhash_function, &arguments);
  MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "flyhash", ALLOCSET_DEFAULT_SIZES);
  give_up_at_conflict(context);
  RowKeys *keys =
      create_keys_as_they_come(NamedArguments(fcinfo), result.column_type(0), flyhash_function, context);
  VectorReader reader = {arguments,
                         keys,
                         &result,
                         context,
                         AllocSetContextCreate(context, "row", ALLOCSET_DEFAULT_SIZES),
                         GrowingArray<int64>(context),
                         nullptr,
                         {}};
  watch_computation(context, context, flyhash_function, &reader, [](const void *work) {
    const BulkFlyHasher *hasher = static_cast<const VectorReader *>(work)->hasher;
    return hasher == nullptr ? WatchFigures{} : figures_of(hasher->attempt());
  });
  read_watched_query(string_argument(fcinfo, 0), &reader, flyhash_function, context);
  note_work(context);
  finish_round(&reader);
  note_end(context);
  if (reader.hasher != nullptr) report_device(flyhash_function, reader.hasher->attempt());
  close_row_keys(keys);
  MemoryContextDelete(context);
  return 0;
}
}

}  // namespace simjoin::pg
