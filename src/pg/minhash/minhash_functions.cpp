// What can be done with signatures: comparing, merging, truncating, cutting into bands.
#include "pg/base/pg.hpp"

extern "C" {
#include "funcapi.h"
#include "utils/builtins.h"
}

#include <algorithm>

#include "core/minhash/minhash_plan.hpp"
#include "pg/minhash/minhash_values.hpp"
#include "pg/sets/arrays.hpp"

namespace simjoin::pg {
namespace {

// Returns a description of the signature's kind, for messages.
const char *describe(const SignatureHeader &header) {
  return psprintf("the family %s with %d values of %d bits and seed " INT64_FORMAT,
                  signature_family_names[static_cast<int>(header.family)].data(), header.permutations,
                  header.bits, static_cast<int64>(header.seed));
}

void check_comparable(const SignatureHeader &a, const SignatureHeader &b, const char *function) {
  if (a.comparable(b)) return;
  ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                  errmsg("%s: the signatures are of different kinds", function),
                  errdetail("One is of %s, the other of %s.", describe(a), describe(b)),
                  errhint("Make both with the same function, permutations and seed, and truncate both or "
                          "neither.")));
}

// Errors unless the value of an argument is from 1 to `most`.
void check_range(int32 value, int32 most, const char *function, const char *argument) {
  check_count(value, static_cast<uint32>(most), function, argument,
              "For this signature it is a number from 1 to %u.");
}

uint32_t *all_values(const uint8_t *signature, const SignatureHeader &header) {
  auto *values = allocate<uint32_t>(header.permutations);
  read_values(signature, 0, header.permutations, values);
  return values;
}

bytea *merge(const uint8_t *left, const uint8_t *right) {
  constexpr const char *function = "minhash_union";
  const SignatureHeader header = read_header(left), other = read_header(right);
  check_comparable(header, other, function);
  if (header.family != SignatureFamily::minhash || header.bits != full_bits)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s: %s signatures cannot be merged", function,
                           header.bits != full_bits ? "truncated" : "weighted"),
                    errhint("Merge signatures of minhash() before they are truncated.")));
  if (header.empty || other.empty) {
    const uint8_t *kept = header.empty ? right : left;
    const size_t bytes = read_header(kept).bytes();
    bytea *value = allocate_signature(bytes);
    std::copy_n(kept, bytes, reinterpret_cast<uint8_t *>(VARDATA(value)));
    return value;
  }
  uint32_t *values = all_values(left, header), *others = all_values(right, header);
  for (size_t i = 0; i < header.permutations; ++i) values[i] = std::min(values[i], others[i]);
  bytea *value = make_signature(header, values);
  pfree(values);
  pfree(others);
  return value;
}

Datum bands_of(const uint8_t *signature, int32 bands, int32 rows) {
  constexpr const char *function = "minhash_bands";
  const SignatureHeader header = read_header(signature);
  check_range(bands, header.permutations, function, "bands");
  check_range(rows, header.permutations / bands, function, "rows");
  if (header.empty) return make_array<int64>(0).datum();
  uint32_t *values = all_values(signature, header);
  const auto hashes = make_array<int64>(static_cast<size_t>(bands));
  for (int32 band = 0; band < bands; ++band) {
    const uint64_t hash =
        band_hash(header, static_cast<uint32_t>(band), values + static_cast<ptrdiff_t>(band) * rows,
                  static_cast<uint32_t>(rows));
    hashes.elements[band] = static_cast<int64>(hash);
  }
  pfree(values);
  return hashes.datum();
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_minhash_similarity);
Datum simjoin_minhash_similarity(PG_FUNCTION_ARGS) {
  varlena *left = PG_GETARG_VARLENA_PP(0), *right = PG_GETARG_VARLENA_PP(1);
  const uint8_t *a = signature_bytes(left), *b = signature_bytes(right);
  const SignatureHeader header = read_header(a);
  check_comparable(header, read_header(b), "minhash_similarity");
  const double result = estimated_similarity(header, common_values(a, b));
  PG_FREE_IF_COPY(left, 0);
  PG_FREE_IF_COPY(right, 1);
  PG_RETURN_FLOAT8(result);
}

PG_FUNCTION_INFO_V1(simjoin_minhash_merge);
Datum simjoin_minhash_merge(PG_FUNCTION_ARGS) {
  PG_RETURN_BYTEA_P(
      merge(signature_bytes(PG_GETARG_VARLENA_PP(0)), signature_bytes(PG_GETARG_VARLENA_PP(1))));
}

PG_FUNCTION_INFO_V1(simjoin_minhash_truncate);
Datum simjoin_minhash_truncate(PG_FUNCTION_ARGS) {
  const uint8_t *signature = signature_bytes(PG_GETARG_VARLENA_PP(0));
  SignatureHeader header = read_header(signature);
  const int32 bits = PG_GETARG_INT32(1);
  check_range(bits, header.bits, "minhash_truncate", "bits");
  uint32_t *values = nullptr;
  if (!header.empty) values = all_values(signature, header);
  header.bits = static_cast<uint8_t>(bits);
  PG_RETURN_BYTEA_P(make_signature(header, values));
}

PG_FUNCTION_INFO_V1(simjoin_minhash_bands);
Datum simjoin_minhash_bands(PG_FUNCTION_ARGS) {
  varlena *value = PG_GETARG_VARLENA_PP(0);
  const Datum bands = bands_of(signature_bytes(value), PG_GETARG_INT32(1), PG_GETARG_INT32(2));
  PG_FREE_IF_COPY(value, 0);
  return bands;
}

PG_FUNCTION_INFO_V1(simjoin_minhash_band_plan);
Datum simjoin_minhash_band_plan(PG_FUNCTION_ARGS) {
  constexpr const char *function = "minhash_band_plan";
  const double threshold = PG_GETARG_FLOAT8(0);
  const int32 permutations = PG_GETARG_INT32(1);
  check_permutations(permutations, function, "permutations");
  check_share(threshold, function, "threshold");
  TupleDesc columns;
  if (get_call_result_type(fcinfo, nullptr, &columns) != TYPEFUNC_COMPOSITE)
    elog(ERROR, "%s: the result is not a row", function);
  const BandPlan plan = best_band_plan(threshold, static_cast<uint32_t>(permutations));
  Datum values[] = {Int32GetDatum(static_cast<int32>(plan.bands)),
                    Int32GetDatum(static_cast<int32>(plan.rows)),
                    Float8GetDatum(candidate_probability(plan, threshold)),
                    Float8GetDatum(false_positive_rate(plan, threshold))};
  bool nulls[] = {false, false, false, false};
  PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(columns), values, nulls)));
}
}

}  // namespace simjoin::pg
