// Signatures of the rows of a query, on all threads or on a GPU, while further rows are read.
#include "pg/base/pg.hpp"

extern "C" {
#include "utils/array.h"
#include "utils/memutils.h"
}

#include <memory>
#include <utility>

#include "core/minhash/minhash_bulk.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/growing_array.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/named_arguments.hpp"
#include "pg/base/settings.hpp"
#include "pg/computation/gpu_notices.hpp"
#include "pg/computation/steps.hpp"
#include "pg/computation/watch.hpp"
#include "pg/minhash/minhash_values.hpp"
#include "pg/query/query_source.hpp"
#include "pg/query/result_rows.hpp"
#include "pg/query/row_columns.hpp"
#include "pg/rows/row_context.hpp"
#include "pg/sets/weights.hpp"

namespace simjoin::pg {
namespace {

// Takes the rows of a query, and puts their signatures into the call's result.
struct SignatureReader {
  void start(TupleDesc columns);
  void take(const QueryRow &row);

  const char *function;
  bool weighted;
  const char *tokenizer;  // nullptr where the query returns sets
  RowKeys *keys;
  BulkSigner *signer;
  ResultRows *result;
  MemoryContext context;
  MemoryContext row_context;        // of one row, in or out
  GrowingArray<int64> ids;          // of the sets that are being added
  GrowingArray<int64> signing_ids;  // of the signer's round
  SetMaker *maker = nullptr;        // where the query does not return sets
};

void SignatureReader::start(TupleDesc columns) {
  const ColumnCheck check = {function, keys, "key", !weighted};
  if (weighted)
    check_weighted_columns(columns, check, tokenizer);
  else
    maker = check_set_column(columns, check, tokenizer, context).maker;
}

// Waits for the round that is being signed, if any, and returns its signatures.
void finish_round(SignatureReader *reader) {
  if (reader->signing_ids.empty()) return;
  BulkSigner *signer = reader->signer;
  run_to_end(signer);
  for (size_t i = 0; i < signer->sets(); ++i) {
    check_interrupts();
    bytea *signature = allocate_signature(signer->signature_bytes(i));
    signer->write(i, reinterpret_cast<uint8_t *>(VARDATA(signature)));
    reader->result->add({key_at(reader->keys, reader->signing_ids[i], 0), PointerGetDatum(signature)});
    pfree(signature);
  }
  reader->signing_ids.clear();
}

// Begins to sign the sets that wait, once the round before is finished.
void begin_round(SignatureReader *reader) {
  finish_round(reader);
  if (reader->ids.empty()) return;
  prepare_gpu_use();
  call_cpp([&] { reader->signer->begin(); });
  std::swap(reader->ids, reader->signing_ids);
}

// Hands a row's set to the signer, or, with a maker, the set of its text.
void add_set(const SignatureReader &reader, const SetMaker *maker, Datum tokens, Datum weights) {
  const SetView set = view_set(maker == nullptr ? tokens : make_set(*maker, tokens), reader.function);
  if (reader.weighted) {
    const float *view = view_weights(DatumGetArrayTypeP(weights), set, reader.function);
    WeightedToken *tokens_with_weights = weighted_tokens(set, view);
    call_cpp([&] { reader.signer->add(std::span<const WeightedToken>(tokens_with_weights, set.count)); });
  } else {
    const uint32_t *hashes = token_hashes(set);
    call_cpp([&] { reader.signer->add(std::span<const uint32_t>(hashes, set.count)); });
  }
}

void SignatureReader::take(const QueryRow &row) {
  Datum tokens, weights = 0;
  const int64 id = add_id(keys, row);
  if (!row.get(1, &tokens) || (weighted && !row.get(2, &weights)))
    return result->add({key_at(keys, id, 0), nullptr});
  ids.append(id);
  in_row_context(row_context, [&] {
    add_set(*this, row.has_set ? nullptr : maker, tokens, weights);
    if (signer->full()) begin_round(this);
  });
}

// Returns (id, signature) of every row of the query that the call was given.
Datum return_signatures(FunctionCallInfo fcinfo, SignatureFamily family, const char *function) {
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null(function, {"key", "tokens"});
  const bool weighted = family == SignatureFamily::weighted;
  const char *what = weighted ? "samples" : "permutations";
  const int32 permutations = arguments.integer(what);
  check_permutations(permutations, function, what);
  BulkSpec spec;
  spec.family = family;
  spec.permutations = static_cast<uint32_t>(permutations);
  spec.seed = static_cast<uint64_t>(arguments.bigint("seed"));
  Settings::set_resources(&spec);
  MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "signatures", ALLOCSET_DEFAULT_SIZES);
  give_up_at_conflict(context);
  SignatureReader reader = {function,
                            weighted,
                            arguments.optional_string("tokens"),
                            create_keys_as_they_come(arguments, result.column_type(0), function, context),
                            own(context, [&] { return std::make_unique<BulkSigner>(spec); }),
                            &result,
                            context,
                            AllocSetContextCreate(context, "row", ALLOCSET_DEFAULT_SIZES),
                            GrowingArray<int64>(context),
                            GrowingArray<int64>(context)};
  watch_computation(context, context, function, reader.signer, [](const void *signer) {
    return figures_of(static_cast<const BulkSigner *>(signer)->attempt());
  });
  read_blocks_of_query(arguments.string("query"), &reader, function, context, reader.tokenizer);
  note_work(context);
  begin_round(&reader);
  finish_round(&reader);
  note_end(context);
  report_device(function, reader.signer->attempt());
  close_row_keys(reader.keys);
  MemoryContextDelete(context);
  return 0;
}

}  // namespace

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

}  // namespace simjoin::pg
