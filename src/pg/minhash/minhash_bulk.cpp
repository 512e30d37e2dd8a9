// Signatures of the rows of a query, on all threads or on a GPU, while further rows are read.
#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"
}

#include <chrono>
#include <memory>
#include <utility>

#include "core/minhash/minhash_bulk.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/gpu_notices.hpp"
#include "pg/base/query_receiver.hpp"
#include "pg/base/query_rows.hpp"
#include "pg/base/settings.hpp"
#include "pg/base/weights.hpp"
#include "pg/minhash/minhash_values.hpp"

namespace simjoin::pg {
namespace {

constexpr std::chrono::microseconds step_budget{10'000};
constexpr size_t first_capacity = 1024;

// Takes the rows of a query from the executor, and puts their signatures into the call's result.
struct SignatureReceiver {
  DestReceiver receiver;
  const char *function;
  bool weighted;
  bool started;
  Oid id_type;
  BulkSigner *signer;
  ReturnSetInfo *result;
  MemoryContext row_context;  // of one row, in or out
  int64 *ids;                 // of the sets that are being added
  size_t capacity;
  int64 *signing_ids;  // of the signer's round
  size_t signing_capacity;
  bool signing;
};

SignatureReceiver *receiver_of(DestReceiver *self) {
  return reinterpret_cast<SignatureReceiver *>(self);
}

// Checks the query's columns.
void start_rows(DestReceiver *self, int, TupleDesc columns) {
  SignatureReceiver *receiver = receiver_of(self);
  check_single_statement(&receiver->started, receiver->function);
  TokenType type;
  if (columns->natts == (receiver->weighted ? 3 : 2) && is_id_type(TupleDescAttr(columns, 0)->atttypid) &&
      token_type_of(TupleDescAttr(columns, 1)->atttypid, &type) &&
      (!receiver->weighted || getBaseType(TupleDescAttr(columns, 2)->atttypid) == FLOAT4ARRAYOID)) {
    receiver->id_type = getBaseType(TupleDescAttr(columns, 0)->atttypid);
    return;
  }
  ereport(ERROR,
          (errcode(ERRCODE_DATATYPE_MISMATCH),
           errmsg("%s: a query must return %s", receiver->function,
                  receiver->weighted
                      ? "three columns, an id (smallint, integer or bigint), a set (integer[], bigint[] or "
                        "text[]) and its weights (real[])"
                      : "two columns, an id (smallint, integer or bigint) and a set (integer[], bigint[] or "
                        "text[])"),
           errdetail("The query returns %s.", describe_columns(columns)),
           errhint("%s", receiver->weighted ? "Name the columns and cast where necessary, as in SELECT id, "
                                              "tokens::text[], weights::real[] FROM documents."
                                            : hint_for_sets(columns))));
}

void return_row(SignatureReceiver *receiver, int64 id, bytea *signature) {
  Datum values[] = {Int64GetDatum(id), PointerGetDatum(signature)};
  bool nulls[] = {false, signature == nullptr};
  tuplestore_putvalues(receiver->result->setResult, receiver->result->setDesc, values, nulls);
}

// Returns the signatures of the round that is being signed, if there is one, once it is done.
void finish_round(SignatureReceiver *receiver) {
  if (!receiver->signing) return;
  BulkSigner *signer = receiver->signer;
  for (bool done = false; !done;) {
    CHECK_FOR_INTERRUPTS();
    done = call_cpp([&] { return signer->step(step_budget); });
    report_gpu_notice(call_cpp([&] { return GpuNotice(signer->take_notice()); }));
  }
  for (size_t i = 0; i < signer->sets(); ++i) {
    CHECK_FOR_INTERRUPTS();
    bytea *signature = allocate_signature(signer->signature_bytes(i));
    signer->write(i, reinterpret_cast<uint8_t *>(VARDATA(signature)));
    return_row(receiver, receiver->signing_ids[i], signature);
    pfree(signature);
  }
  receiver->signing = false;
}

// Has the sets that wait signed, after those before them.
void begin_round(SignatureReceiver *receiver) {
  finish_round(receiver);
  if (receiver->signer->added() == 0) return;
  prepare_gpu_use();
  call_cpp([&] { receiver->signer->begin(); });
  std::swap(receiver->ids, receiver->signing_ids);
  std::swap(receiver->capacity, receiver->signing_capacity);
  receiver->signing = true;
}

// Hands a row's set to the signer.
void add_set(SignatureReceiver *receiver, int64 id, Datum tokens, Datum weights) {
  const size_t sets = receiver->signer->added();
  make_room(&receiver->ids, sets, &receiver->capacity);
  receiver->ids[sets] = id;
  const SetView set = view_set(tokens, receiver->function);
  if (receiver->weighted) {
    const float *view = view_weights(DatumGetArrayTypeP(weights), set, receiver->function);
    WeightedToken *tokens_with_weights = weighted_tokens(set, view);
    call_cpp([&] { receiver->signer->add(std::span<const WeightedToken>(tokens_with_weights, set.count)); });
  } else {
    const uint32_t *hashes = token_hashes(set);
    call_cpp([&] { receiver->signer->add(std::span<const uint32_t>(hashes, set.count)); });
  }
}

bool receive_row(TupleTableSlot *slot, DestReceiver *self) {
  SignatureReceiver *receiver = receiver_of(self);
  bool id_isnull, tokens_isnull, weights_isnull = false;
  const Datum id = slot_getattr(slot, 1, &id_isnull);
  const Datum tokens = slot_getattr(slot, 2, &tokens_isnull);
  const Datum weights = receiver->weighted ? slot_getattr(slot, 3, &weights_isnull) : Datum{0};
  if (id_isnull)
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                    errmsg("%s: a query returns a row whose id is NULL", receiver->function),
                    errhint("Leave such rows out with WHERE id IS NOT NULL.")));
  const int64 number = id_of(id, receiver->id_type);
  if (tokens_isnull || weights_isnull) {
    return_row(receiver, number, nullptr);
    return true;
  }
  MemoryContext caller = MemoryContextSwitchTo(receiver->row_context);
  add_set(receiver, number, tokens, weights);
  MemoryContextReset(receiver->row_context);
  if (receiver->signer->full()) begin_round(receiver);
  MemoryContextSwitchTo(caller);
  return true;
}

// Returns (id, signature) of every row of the query that the call was given.
Datum return_signatures(FunctionCallInfo fcinfo, SignatureFamily family, const char *function) {
  compat::begin_materialized_result(fcinfo);
  const bool weighted = family == SignatureFamily::weighted;
  const int32 permutations = PG_GETARG_INT32(1);
  check_permutations(permutations, function, weighted ? "samples" : "permutations");
  const auto seed = static_cast<uint64_t>(PG_GETARG_INT64(2));
  MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "signatures", ALLOCSET_DEFAULT_SIZES);
  auto *receiver =
      static_cast<SignatureReceiver *>(MemoryContextAllocZero(context, sizeof(SignatureReceiver)));
  receiver->receiver.receiveSlot = receive_row;
  receiver->receiver.rStartup = start_rows;
  receiver->function = function;
  receiver->weighted = weighted;
  receiver->result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
  receiver->row_context = AllocSetContextCreate(context, "row", ALLOCSET_DEFAULT_SIZES);
  receiver->capacity = receiver->signing_capacity = first_capacity;
  receiver->ids = static_cast<int64 *>(MemoryContextAlloc(context, first_capacity * sizeof(int64)));
  receiver->signing_ids = static_cast<int64 *>(MemoryContextAlloc(context, first_capacity * sizeof(int64)));
  BulkSpec spec;
  spec.family = family;
  spec.permutations = static_cast<uint32_t>(permutations);
  spec.seed = seed;
  Settings::set_resources(&spec);
  receiver->signer = own(context, [&] { return std::make_unique<BulkSigner>(spec); });
  run_query(string_argument(fcinfo, 0), &receiver->receiver, function);
  begin_round(receiver);
  finish_round(receiver);
  report_device(function, receiver->signer->use());
  MemoryContextDelete(context);
  return 0;
}

}  // namespace
}  // namespace simjoin::pg

using namespace simjoin;
using namespace simjoin::pg;

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_minhash_signatures);
Datum simjoin_minhash_signatures(PG_FUNCTION_ARGS) {
  return return_signatures(fcinfo, SignatureFamily::minhash, "minhash_signatures");
}

PG_FUNCTION_INFO_V1(simjoin_weighted_minhash_signatures);
Datum simjoin_weighted_minhash_signatures(PG_FUNCTION_ARGS) {
  return return_signatures(fcinfo, SignatureFamily::weighted, "weighted_minhash_signatures");
}
}
