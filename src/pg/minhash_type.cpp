// The type minhash: text, binary and bytea forms, order and equality.
#include "pg/pg.hpp"

extern "C" {
#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "utils/builtins.h"
}

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "pg/minhash_values.hpp"

namespace simjoin::pg {
namespace {

constexpr const char *text_form = "family:version:permutations:bits:seed:values";

[[noreturn]] void raise_malformed(const char *text, const char *why) {
  // A signature is long: its beginning is what helps.
  ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
                  errmsg("invalid input syntax for type minhash: \"%.40s%s\"", text,
                         std::strlen(text) > 40 ? "..." : ""),
                  errdetail("%s", why), errhint("The form is %s, as the type's output has it.", text_form)));
  pg_unreachable();
}

// Errors unless the bytes are a signature.
void check_signature(const uint8_t *bytes, size_t count) {
  const char *flaw = signature_flaw({bytes, count});
  if (flaw == nullptr) return;
  ereport(ERROR, (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION), errmsg("invalid signature: %s", flaw),
                  errhint("The bytes must come from a minhash, by a cast or in binary form.")));
}

// Reads a decimal number and the colon after it.
long long next_number(const char *text, const char *&next, long long least, long long most) {
  char *end;
  errno = 0;
  const long long number = std::strtoll(next, &end, 10);
  if (end == next || *end != ':' || errno != 0 || number < least || number > most ||
      std::isspace(static_cast<unsigned char>(*next)))
    raise_malformed(text, "A number in its header is missing or out of range.");
  next = end + 1;
  return number;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Reads the header of the text form; `next` is left at the values.
SignatureHeader parse_header(const char *text, const char *&next) {
  SignatureHeader header;
  const char *colon = std::strchr(text, ':');
  const std::string_view family(text, colon == nullptr ? 0 : static_cast<size_t>(colon - text));
  if (family == signature_family_names[1])
    header.family = SignatureFamily::minhash;
  else if (family == signature_family_names[2])
    header.family = SignatureFamily::weighted;
  else
    raise_malformed(text, "It does not begin with the name of a family, minhash or weighted.");
  next = colon + 1;
  next_number(text, next, signature_version, signature_version);
  header.permutations = static_cast<uint16_t>(next_number(text, next, 1, max_permutations));
  header.bits = static_cast<uint8_t>(next_number(text, next, 1, full_bits));
  header.seed = static_cast<uint64_t>(next_number(text, next, PG_INT64_MIN, PG_INT64_MAX));
  header.empty = std::strcmp(next, "empty") == 0;
  return header;
}

bytea *parse(const char *text) {
  const char *next;
  const SignatureHeader header = parse_header(text, next);
  const size_t bytes = header.bytes();
  bytea *value = allocate_signature(bytes);
  auto *out = reinterpret_cast<uint8_t *>(VARDATA(value));
  write_header(header, out);
  if (header.empty) return value;
  if (std::strlen(next) != 2 * (bytes - signature_header_bytes))
    raise_malformed(text, "Its values do not have the length that its header says.");
  for (size_t i = signature_header_bytes; i < bytes; ++i, next += 2) {
    const int high = hex_digit(next[0]), low = hex_digit(next[1]);
    if (high < 0 || low < 0) raise_malformed(text, "Its values are not hexadecimal digits.");
    out[i] = static_cast<uint8_t>(high << 4 | low);
  }
  if (signature_flaw({out, bytes}) != nullptr) raise_malformed(text, "Bits after its last value are set.");
  return value;
}

bytea *checked_copy(const char *data, size_t bytes) {
  check_signature(reinterpret_cast<const uint8_t *>(data), bytes);
  bytea *value = allocate_signature(bytes);
  std::copy_n(data, bytes, VARDATA(value));
  return value;
}

// Returns below, at or above 0 as the first argument's bytes are before, equal to or after the second's.
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
}  // namespace simjoin::pg

using namespace simjoin;
using namespace simjoin::pg;

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_minhash_in);
Datum simjoin_minhash_in(PG_FUNCTION_ARGS) {
  PG_RETURN_BYTEA_P(parse(PG_GETARG_CSTRING(0)));
}

PG_FUNCTION_INFO_V1(simjoin_minhash_out);
Datum simjoin_minhash_out(PG_FUNCTION_ARGS) {
  const uint8_t *bytes = signature_bytes(PG_GETARG_VARLENA_PP(0));
  const SignatureHeader header = read_header(bytes);
  StringInfoData text;
  initStringInfo(&text);
  appendStringInfo(&text, "%s:%d:%d:%d:" INT64_FORMAT ":",
                   signature_family_names[static_cast<int>(header.family)].data(), signature_version,
                   header.permutations, header.bits, static_cast<int64>(header.seed));
  if (header.empty) appendStringInfoString(&text, "empty");
  const size_t digits = 2 * (header.bytes() - signature_header_bytes);
  enlargeStringInfo(&text, static_cast<int>(digits));
  for (size_t i = signature_header_bytes; i < header.bytes(); ++i) {
    text.data[text.len++] = "0123456789abcdef"[bytes[i] >> 4];
    text.data[text.len++] = "0123456789abcdef"[bytes[i] & 15];
  }
  text.data[text.len] = '\0';
  PG_RETURN_CSTRING(text.data);
}

PG_FUNCTION_INFO_V1(simjoin_minhash_recv);
Datum simjoin_minhash_recv(PG_FUNCTION_ARGS) {
  auto *buffer = reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0));
  const int bytes = buffer->len - buffer->cursor;
  PG_RETURN_BYTEA_P(checked_copy(pq_getmsgbytes(buffer, bytes), static_cast<size_t>(bytes)));
}

// Also the cast to bytea: the layout is the same everywhere.
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
