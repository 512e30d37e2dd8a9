// FlyHashes of the rows of a query, on all threads or on a GPU.
#include "pg/functions/flyhash.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"
}

#include <algorithm>
#include <chrono>
#include <memory>

#include "core/flyhash/flyhash_bulk.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/gpu_notices.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/base/query_receiver.hpp"
#include "pg/base/settings.hpp"

namespace simjoin::pg {
namespace {

constexpr const char *function = "flyhash_signatures";
constexpr std::chrono::microseconds step_budget{10'000};
constexpr size_t first_capacity = 1024;

// Takes the rows of a query from the executor, and puts their hashes into the call's result.
struct FlyReceiver {
  DestReceiver receiver;
  FlyArguments arguments;
  bool started;
  Oid id_type;
  BulkFlyHasher *hasher;  // null until the first vector tells the shape
  FlyShape shape;
  ReturnSetInfo *result;
  MemoryContext context;
  MemoryContext row_context;  // of one row, in or out
  int64 *ids;                 // of the hasher's vectors
  size_t capacity;
};

FlyReceiver *receiver_of(DestReceiver *self) {
  return reinterpret_cast<FlyReceiver *>(self);
}

// Checks the query's columns.
void start_rows(DestReceiver *self, int, TupleDesc columns) {
  FlyReceiver *receiver = receiver_of(self);
  check_single_statement(&receiver->started, function);
  if (columns->natts == 2 && is_id_type(TupleDescAttr(columns, 0)->atttypid) &&
      getBaseType(TupleDescAttr(columns, 1)->atttypid) == FLOAT4ARRAYOID) {
    receiver->id_type = getBaseType(TupleDescAttr(columns, 0)->atttypid);
    return;
  }
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                  errmsg("%s: a query must return two columns, an id (smallint, integer or bigint) and a "
                         "vector (real[])",
                         function),
                  errdetail("The query returns %s.", describe_columns(columns)),
                  errhint("Name the columns and cast where necessary, as in SELECT id, vector::real[] FROM "
                          "images.")));
}

void return_row(FlyReceiver *receiver, int64 id, ArrayType *positions) {
  Datum values[] = {Int64GetDatum(id), PointerGetDatum(positions)};
  bool nulls[] = {false, positions == nullptr};
  tuplestore_putvalues(receiver->result->setResult, receiver->result->setDesc, values, nulls);
}

// Hashes the vectors that wait and returns them.
void finish_round(FlyReceiver *receiver) {
  BulkFlyHasher *hasher = receiver->hasher;
  if (hasher == nullptr || hasher->vectors() == 0) return;
  while (!call_cpp([&] { return hasher->step(step_budget); })) CHECK_FOR_INTERRUPTS();
  report_gpu_notice(call_cpp([&] { return GpuNotice(hasher->take_notice()); }));
  int32 *positions;
  ArrayType *array = allocate_positions(receiver->shape.winners, &positions);
  for (size_t i = 0; i < hasher->vectors(); ++i) {
    CHECK_FOR_INTERRUPTS();
    std::copy_n(hasher->winners(i).data(), receiver->shape.winners, positions);
    return_row(receiver, receiver->ids[i], array);
  }
  pfree(array);
  hasher->clear();
}

// Makes the hasher for vectors like the first one.
void start_hasher(FlyReceiver *receiver, uint32_t dimension) {
  receiver->shape = fly_shape(receiver->arguments, dimension, function);
  prepare_gpu_use();
  receiver->hasher = own(receiver->context, [&] {
    return std::make_unique<BulkFlyHasher>(receiver->shape, Settings::device(), Settings::gpu_memory_limit(),
                                           Settings::cpu_threads());
  });
}

// Hands a row's vector to the hasher.
void add_vector(FlyReceiver *receiver, int64 id, ArrayType *array) {
  const VectorView vector = view_vector(array, function);
  if (receiver->hasher == nullptr) start_hasher(receiver, vector.dimension);
  if (vector.dimension != receiver->shape.dimension)
    ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                    errmsg("%s: a vector of %u elements follows one of %u", function, vector.dimension,
                           receiver->shape.dimension),
                    errhint("All vectors of a call have the same number of elements.")));
  const size_t vectors = receiver->hasher->vectors();
  make_room(&receiver->ids, vectors, &receiver->capacity);
  receiver->ids[vectors] = id;
  call_cpp([&] { receiver->hasher->add(vector.values); });
}

bool receive_row(TupleTableSlot *slot, DestReceiver *self) {
  FlyReceiver *receiver = receiver_of(self);
  bool id_isnull, vector_isnull;
  const Datum id = slot_getattr(slot, 1, &id_isnull);
  const Datum vector = slot_getattr(slot, 2, &vector_isnull);
  if (id_isnull)
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                    errmsg("%s: a query returns a row whose id is NULL", function),
                    errhint("Leave such rows out with WHERE id IS NOT NULL.")));
  const int64 number = id_of(id, receiver->id_type);
  if (vector_isnull) {
    return_row(receiver, number, nullptr);
    return true;
  }
  MemoryContext caller = MemoryContextSwitchTo(receiver->row_context);
  add_vector(receiver, number, DatumGetArrayTypeP(vector));
  MemoryContextReset(receiver->row_context);
  if (receiver->hasher->full()) finish_round(receiver);
  MemoryContextSwitchTo(caller);
  return true;
}

}  // namespace
}  // namespace simjoin::pg

using namespace simjoin;
using namespace simjoin::pg;

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_flyhash_signatures);
Datum simjoin_flyhash_signatures(PG_FUNCTION_ARGS) {
  compat::begin_materialized_result(fcinfo);
  FlyArguments arguments;
  if (!fly_arguments(fcinfo, function, &arguments) || PG_ARGISNULL(0)) return 0;
  MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "flyhash", ALLOCSET_DEFAULT_SIZES);
  auto *receiver = static_cast<FlyReceiver *>(MemoryContextAllocZero(context, sizeof(FlyReceiver)));
  receiver->receiver.receiveSlot = receive_row;
  receiver->receiver.rStartup = start_rows;
  receiver->arguments = arguments;
  receiver->result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
  receiver->context = context;
  receiver->row_context = AllocSetContextCreate(context, "row", ALLOCSET_DEFAULT_SIZES);
  receiver->capacity = first_capacity;
  receiver->ids = static_cast<int64 *>(MemoryContextAlloc(context, first_capacity * sizeof(int64)));
  run_query(string_argument(fcinfo, 0), &receiver->receiver, function);
  finish_round(receiver);
  if (receiver->hasher != nullptr) report_device(function, receiver->hasher->use());
  MemoryContextDelete(context);
  return 0;
}
}
