// Signatures as values of the type minhash, and sets on their way into one.
#pragma once

#include "pg/base/pg.hpp"

#include "core/minhash/minhash.hpp"
#include "core/minhash/minhash_family.hpp"
#include "core/minhash/minhash_signature.hpp"
#include "core/minhash/weighted_minhash.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/sets/set_codec.hpp"
#include "pg/sets/tokens.hpp"

namespace simjoin::pg {

// Returns the bytes of a signature that a function was given.
inline const uint8_t *signature_bytes(const varlena *value) {
  return reinterpret_cast<const uint8_t *>(VARDATA_ANY(value));
}

// Returns a new value with room for a signature of this many bytes.
inline bytea *allocate_signature(size_t bytes) {
  auto *value = static_cast<bytea *>(palloc(VARHDRSZ + bytes));
  SET_VARSIZE(value, VARHDRSZ + bytes);
  return value;
}

// Returns the signature of a set as a new value. Of an empty set it is the header alone.
inline bytea *make_signature(const SignatureHeader &header, const uint32_t *values) {
  bytea *value = allocate_signature(header.bytes());
  write_signature(header, values, reinterpret_cast<uint8_t *>(VARDATA(value)));
  return value;
}

// Errors, naming `function` and calling the number `what`, unless a signature can have `permutations` values.
inline void check_permutations(int32 permutations, const char *function, const char *what) {
  check_count(permutations, max_permutations, function, what, "A signature has 1 to %u values.");
}

// Calls body(i, identity) for each token of a set, with its position. Processes interrupts.
template <class Body>
void for_identities(const SetView &set, Body &&body) {
  TokenCursor tokens(set);
  InterruptCounter interrupts;
  for (uint32_t i = 0; i < set.count; ++i) {
    interrupts.add(set.type == TokenType::text ? 100 : 2);
    body(i, tokens.next([](auto token) { return token_identity(token); }));
  }
}

// Returns the hashes of a set's tokens.
inline uint32_t *token_hashes(const SetView &set) {
  auto *hashes = allocate<uint32_t>(set.count);
  for_identities(set, [&](uint32_t i, uint64_t identity) { hashes[i] = token_hash(identity); });
  return hashes;
}

// Returns a set's tokens with their weights, in the order of the input.
inline WeightedToken *weighted_tokens(const SetView &set, const float *weights) {
  auto *tokens = allocate<WeightedToken>(set.count);
  for_identities(set, [&](uint32_t i, uint64_t identity) {
    tokens[i] = {identity, static_cast<double>(weights[i])};
  });
  return tokens;
}

}  // namespace simjoin::pg
