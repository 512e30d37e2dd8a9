// Signatures of sets as SQL functions.
#include "pg/base/pg.hpp"

extern "C" {
#include "utils/array.h"
#include "utils/memutils.h"
}

#include <algorithm>
#include <memory>

#include "pg/base/errors.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/minhash/minhash_values.hpp"
#include "pg/sets/weights.hpp"

namespace simjoin::pg {
namespace {

// Hash evaluations, and samples of weighted tokens, between two interrupt checks. Both take a few
// milliseconds.
constexpr size_t evaluations_per_step = size_t{1} << 22;
constexpr size_t samples_per_step = size_t{1} << 18;

// The permutations that a call of the function used last; they are the same for most calls of a query.
struct LastHasher {
  MemoryContext context;
  const MinHasher *hasher;
  uint64_t seed;
};

const MinHasher *hasher_for(FmgrInfo *function, uint32_t permutations, uint64_t seed) {
  auto *last = static_cast<LastHasher *>(function->fn_extra);
  if (last == nullptr) {
    last = static_cast<LastHasher *>(MemoryContextAllocZero(function->fn_mcxt, sizeof(LastHasher)));
    last->context = AllocSetContextCreate(function->fn_mcxt, "permutations", ALLOCSET_SMALL_SIZES);
    function->fn_extra = last;
  }
  if (last->hasher == nullptr || last->hasher->permutations() != permutations || last->seed != seed) {
    last->hasher = nullptr;
    MemoryContextReset(last->context);
    last->hasher = own(last->context, [&] { return std::make_unique<MinHasher>(permutations, seed); });
    last->seed = seed;
  }
  return last->hasher;
}

// Returns the header of a signature of full values.
SignatureHeader header_of(SignatureFamily family, bool empty, int32 permutations, int64 seed) {
  return {family, empty, full_bits, static_cast<uint16_t>(permutations), static_cast<uint64_t>(seed)};
}

bytea *sign(const SetView &set, int32 permutations, int64 seed, const MinHasher &hasher) {
  const SignatureHeader header = header_of(SignatureFamily::minhash, set.count == 0, permutations, seed);
  uint32_t *hashes = token_hashes(set);
  auto *values = allocate<uint32_t>(hasher.permutations());
  hasher.start(values);
  const size_t at_once = std::max<size_t>(1, evaluations_per_step / hasher.permutations());
  for (size_t i = 0; i < set.count; i += at_once) {
    check_interrupts();
    hasher.add(hashes + i, std::min(at_once, set.count - i), values);
  }
  bytea *result = make_signature(header, values);
  pfree(hashes);
  pfree(values);
  return result;
}

bytea *sign_weighted(const SetView &set, const float *weights, int32 samples, int64 seed) {
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "weighted minhash", ALLOCSET_SMALL_SIZES);
  MemoryContext caller = MemoryContextSwitchTo(context);
  WeightedToken *tokens = weighted_tokens(set, weights);
  sort_interruptibly(
      tokens, set.count, [](const WeightedToken &a, const WeightedToken &b) { return a < b; },
      [](const WeightedToken &) { return size_t{2}; });
  const size_t count = combine_equal(tokens, set.count);

  auto *state = own(context, [] { return std::make_unique<WeightedSamples>(); });
  call_cpp([&] { state->start(static_cast<uint32_t>(samples)); });
  const size_t at_once = std::max<size_t>(1, samples_per_step / static_cast<size_t>(samples));
  for (size_t i = 0; i < count; i += at_once) {
    check_interrupts();
    add_weighted(tokens + i, std::min(at_once, count - i), static_cast<uint64_t>(seed), *state);
  }
  auto *values = allocate<uint32_t>(static_cast<size_t>(samples));
  state->write_values(values);
  MemoryContextSwitchTo(caller);
  bytea *result = make_signature(header_of(SignatureFamily::weighted, count == 0, samples, seed), values);
  MemoryContextDelete(context);
  return result;
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_minhash);
Datum simjoin_minhash(PG_FUNCTION_ARGS) {
  constexpr const char *function = "minhash";
  const int32 permutations = PG_GETARG_INT32(1);
  const int64 seed = PG_GETARG_INT64(2);
  check_permutations(permutations, function, "permutations");
  const SetView set = view_set(PG_GETARG_DATUM(0), function);
  const MinHasher *hasher =
      hasher_for(fcinfo->flinfo, static_cast<uint32_t>(permutations), static_cast<uint64_t>(seed));
  bytea *result = sign(set, permutations, seed, *hasher);
  free_view(set, PG_GETARG_DATUM(0));
  PG_RETURN_BYTEA_P(result);
}

PG_FUNCTION_INFO_V1(simjoin_weighted_minhash);
Datum simjoin_weighted_minhash(PG_FUNCTION_ARGS) {
  constexpr const char *function = "weighted_minhash";
  const int32 samples = PG_GETARG_INT32(2);
  check_permutations(samples, function, "samples");
  const SetView set = view_set(PG_GETARG_DATUM(0), function);
  ArrayType *array = PG_GETARG_ARRAYTYPE_P(1);
  bytea *result = sign_weighted(set, view_weights(array, set, function), samples, PG_GETARG_INT64(3));
  free_view(set, PG_GETARG_DATUM(0));
  PG_FREE_IF_COPY(array, 1);
  PG_RETURN_BYTEA_P(result);
}
}

}  // namespace simjoin::pg
