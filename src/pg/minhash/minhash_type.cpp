// The type minhash: text, binary and bytea forms, order and equality.
#include "pg/base/pg.hpp"

extern "C" {
#include "common/hashfn.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
}

#include <algorithm>
#include <cstring>

#include "core/minhash/minhash_text.hpp"
#include "pg/minhash/minhash_values.hpp"

namespace simjoin::pg {
namespace {

constexpr const char *text_form = "family:version:permutations:bits:seed:values";

[[noreturn]] void raise_malformed(const char *text, const char *why) {
  // A signature is long, so the message has its beginning only.
  const int length = static_cast<int>(std::strlen(text)), shown = pg_mbcliplen(text, length, 40);
  ereport(
      ERROR,
      (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
       errmsg("invalid input syntax for type minhash: \"%.*s%s\"", shown, text, length > shown ? "..." : ""),
       errdetail("%s", why),
       text[0] == '{' ? errhint("The signature of a set is made as in minhash('{1,2}'::integer[]).")
                      : errhint("The form is %s, as in the type's output.", text_form)));
  pg_unreachable();
}

// Errors unless the bytes are a signature.
void check_signature(const uint8_t *bytes, size_t count) {
  const char *flaw = signature_flaw({bytes, count});
  if (flaw == nullptr) return;
  ereport(ERROR, (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION), errmsg("invalid signature: %s", flaw),
                  errhint("The bytes must come from a minhash, by a cast or in binary form.")));
}

bytea *parse(const char *text) {
  SignatureHeader header;
  const char *values;
  const char *flaw = parse_signature_header(text, &header, &values);
  if (flaw != nullptr) raise_malformed(text, flaw);
  bytea *value = allocate_signature(header.bytes());
  flaw = parse_signature_values(header, values, reinterpret_cast<uint8_t *>(VARDATA(value)));
  if (flaw != nullptr) raise_malformed(text, flaw);
  return value;
}

bytea *checked_copy(const char *data, size_t bytes) {
  check_signature(reinterpret_cast<const uint8_t *>(data), bytes);
  bytea *value = allocate_signature(bytes);
  std::copy_n(data, bytes, VARDATA(value));
  return value;
}

// Returns a number below 0, 0, or a number above 0, as the first argument's bytes are before, equal to, or
// after the second's.
int compare(FunctionCallInfo fcinfo) {
  varlena *a = PG_GETARG_VARLENA_PP(0), *b = PG_GETARG_VARLENA_PP(1);
  const size_t a_size = VARSIZE_ANY_EXHDR(a), b_size = VARSIZE_ANY_EXHDR(b);
  int result = std::memcmp(VARDATA_ANY(a), VARDATA_ANY(b), std::min(a_size, b_size));
  if (result == 0) result = a_size < b_size ? -1 : a_size > b_size;
  PG_FREE_IF_COPY(a, 0);
  PG_FREE_IF_COPY(b, 1);
  return result;
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_minhash_in);
Datum simjoin_minhash_in(PG_FUNCTION_ARGS) {
  PG_RETURN_BYTEA_P(parse(PG_GETARG_CSTRING(0)));
}

PG_FUNCTION_INFO_V1(simjoin_minhash_out);
Datum simjoin_minhash_out(PG_FUNCTION_ARGS) {
  const uint8_t *bytes = signature_bytes(PG_GETARG_VARLENA_PP(0));
  auto *text = static_cast<char *>(palloc(max_signature_text(read_header(bytes)) + 1));
  text[write_signature_text(bytes, text)] = '\0';
  PG_RETURN_CSTRING(text);
}

PG_FUNCTION_INFO_V1(simjoin_minhash_recv);
Datum simjoin_minhash_recv(PG_FUNCTION_ARGS) {
  auto *buffer = reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0));
  const int bytes = buffer->len - buffer->cursor;
  PG_RETURN_BYTEA_P(checked_copy(pq_getmsgbytes(buffer, bytes), static_cast<size_t>(bytes)));
}

// It is the cast to bytea as well: the layout is the same everywhere.
PG_FUNCTION_INFO_V1(simjoin_minhash_send);
Datum simjoin_minhash_send(PG_FUNCTION_ARGS) {
  PG_RETURN_BYTEA_P(PG_GETARG_BYTEA_P_COPY(0));
}

PG_FUNCTION_INFO_V1(simjoin_minhash_from_bytea);
Datum simjoin_minhash_from_bytea(PG_FUNCTION_ARGS) {
  bytea *bytes = PG_GETARG_BYTEA_PP(0);
  PG_RETURN_BYTEA_P(checked_copy(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes)));
}

PG_FUNCTION_INFO_V1(simjoin_minhash_eq);
Datum simjoin_minhash_eq(PG_FUNCTION_ARGS) {
  PG_RETURN_BOOL(compare(fcinfo) == 0);
}
PG_FUNCTION_INFO_V1(simjoin_minhash_ne);
Datum simjoin_minhash_ne(PG_FUNCTION_ARGS) {
  PG_RETURN_BOOL(compare(fcinfo) != 0);
}
PG_FUNCTION_INFO_V1(simjoin_minhash_lt);
Datum simjoin_minhash_lt(PG_FUNCTION_ARGS) {
  PG_RETURN_BOOL(compare(fcinfo) < 0);
}
PG_FUNCTION_INFO_V1(simjoin_minhash_le);
Datum simjoin_minhash_le(PG_FUNCTION_ARGS) {
  PG_RETURN_BOOL(compare(fcinfo) <= 0);
}
PG_FUNCTION_INFO_V1(simjoin_minhash_gt);
Datum simjoin_minhash_gt(PG_FUNCTION_ARGS) {
  PG_RETURN_BOOL(compare(fcinfo) > 0);
}
PG_FUNCTION_INFO_V1(simjoin_minhash_ge);
Datum simjoin_minhash_ge(PG_FUNCTION_ARGS) {
  PG_RETURN_BOOL(compare(fcinfo) >= 0);
}
PG_FUNCTION_INFO_V1(simjoin_minhash_cmp);
Datum simjoin_minhash_cmp(PG_FUNCTION_ARGS) {
  PG_RETURN_INT32(compare(fcinfo));
}

PG_FUNCTION_INFO_V1(simjoin_minhash_hash);
Datum simjoin_minhash_hash(PG_FUNCTION_ARGS) {
  varlena *value = PG_GETARG_VARLENA_PP(0);
  const Datum hash = hash_any(signature_bytes(value), static_cast<int>(VARSIZE_ANY_EXHDR(value)));
  PG_FREE_IF_COPY(value, 0);
  return hash;
}

PG_FUNCTION_INFO_V1(simjoin_minhash_hash_extended);
Datum simjoin_minhash_hash_extended(PG_FUNCTION_ARGS) {
  varlena *value = PG_GETARG_VARLENA_PP(0);
  const Datum hash = hash_any_extended(signature_bytes(value), static_cast<int>(VARSIZE_ANY_EXHDR(value)),
                                       static_cast<uint64>(PG_GETARG_INT64(1)));
  PG_FREE_IF_COPY(value, 0);
  return hash;
}
}

}  // namespace simjoin::pg
