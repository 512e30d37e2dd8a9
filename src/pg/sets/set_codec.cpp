#include "pg/sets/set_codec.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
}

#include <algorithm>
#include <iterator>

#include "core/base/interruption.hpp"
#include "pg/base/errors.hpp"
#include "pg/sets/tokens.hpp"

namespace simjoin::pg {

namespace {

// The types of PostgreSQL that tokens can have, in the order of TokenType.
struct TokenKind {
  Oid array;
  Oid element;
  int length;  // of an element
  bool by_value;
  char alignment;
};

constexpr TokenKind kinds[] = {{INT4ARRAYOID, INT4OID, sizeof(int32), true, TYPALIGN_INT},
                               {INT8ARRAYOID, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE},
                               {TEXTARRAYOID, TEXTOID, -1, false, TYPALIGN_INT}};

const TokenKind &kind_of(TokenType type) {
  return kinds[static_cast<int>(type)];
}

// Gives the token type whose array or element type, as `member` says, is `type`. Returns false where no token
// type has it.
bool find_kind(Oid TokenKind::*member, Oid type, TokenType *found) {
  const auto *kind = std::find_if(std::begin(kinds), std::end(kinds),
                                  [&](const TokenKind &candidate) { return candidate.*member == type; });
  *found = static_cast<TokenType>(kind - kinds);
  return kind != std::end(kinds);
}

constexpr char remove_null_tokens[] = "Use array_remove(tokens, NULL) to remove them.";

}  // namespace

bool token_type_of(Oid array_type, TokenType *type) {
  return OidIsValid(array_type) && find_kind(&TokenKind::array, getBaseType(array_type), type);
}

TokenType kind_argument(Oid type, const char *function) {
  TokenType kind;
  if (!token_type_of(type, &kind))
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("%s: kind is of type %s", function, format_type_be(type)),
                    errhint("Give NULL::integer[], NULL::bigint[] or NULL::text[].")));
  return kind;
}

Oid array_type_of(TokenType type) {
  return kind_of(type).array;
}

ArrayType *construct_token_array(Datum *tokens, size_t count, TokenType type) {
  const TokenKind &kind = kind_of(type);
  return construct_array(tokens, static_cast<int>(count), kind.element, kind.length, kind.by_value,
                         kind.alignment);
}

int dimensions_of_flawed(ArrayType *array) {
  if (ARR_NDIM(array) > 1) return ARR_NDIM(array);
  return ARR_HASNULL(array) && array_contains_nulls(array) ? 1 : 0;
}

void raise_not_plain(int dimensions, const char *function, const char *what, const char *null_hint) {
  if (dimensions > 1)
    ereport(
        ERROR,
        (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
         errmsg("%s: %s must be a one-dimensional array", function, what),
         errdetail("The array has %d dimensions.", dimensions),
         errhint("Use ARRAY(SELECT unnest(%s)) to make a one-dimensional array of all its elements.", what)));
  ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                  errmsg("%s: %s must not contain NULL elements", function, what), errhint("%s", null_hint)));
  pg_unreachable();
}

void raise_flawed(const char *function, int dimensions) {
  raise_not_plain(dimensions, function, "tokens", remove_null_tokens);
}

void check_plain_array(ArrayType *array, const char *function, const char *what, const char *null_hint) {
  const int dimensions = dimensions_of_flawed(array);
  if (dimensions > 0) raise_not_plain(dimensions, function, what, null_hint);
}

SetView view_set(Datum datum, const char *function) {
  ArrayType *array = DatumGetArrayTypeP(datum);
  SetView set;
  if (!find_kind(&TokenKind::element, ARR_ELEMTYPE(array), &set.type))
    ereport(ERROR,
            (errcode(ERRCODE_DATATYPE_MISMATCH),
             errmsg("%s: a set cannot be an array of type %s", function, format_type_be(ARR_ELEMTYPE(array))),
             errhint("Cast it to integer[], bigint[] or text[].")));
  check_plain_array(array, function, "tokens", remove_null_tokens);
  set.count = static_cast<uint32_t>(ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)));
  set.data = ARR_DATA_PTR(array);
  set.array = array;
  return set;
}

bool view_plain_set(ArrayType *array, TokenType type, SetView *set) {
  const uint32_t count = ARR_NDIM(array) == 0 ? 0 : static_cast<uint32_t>(*ARR_DIMS(array));
  *set = {type, count, ARR_DATA_PTR(array), array};
  return ARR_ELEMTYPE(array) == kind_of(type).element;
}

void free_view(const SetView &set, Datum datum) {
  if (static_cast<const void *>(set.array) != DatumGetPointer(datum))
    pfree(const_cast<ArrayType *>(set.array));
}

namespace {

// Returns the bytes of the texts in the array, or 0 where it has none.
size_t text_bytes(const SetView &set) {
  if (set.type != TokenType::text || set.count == 0) return 0;
  const char *end = reinterpret_cast<const char *>(set.array) + VARSIZE(set.array);
  return static_cast<size_t>(end - static_cast<const char *>(set.data));
}

void add_set(JoinEngine *engine, Side side, const SetView &set) {
  const size_t bytes = text_bytes(set);
  if (PackedTexts::readable || bytes == 0)
    return engine->add(
        side, {set.type, static_cast<const char *>(set.data), &set.count, 1, set.count, bytes, nullptr});
  TextPacker packer;
  TextCursor cursor(set);
  for (uint32_t i = 0; i < set.count; ++i) {
    check_interruption_at(i);
    packer.add(cursor.next());
  }
  const PackedTexts texts = packer.texts();
  engine->add(side, row_of(texts));
}

}  // namespace

void feed_set(JoinEngine *engine, Side side, const SetView &set) {
  call_cpp([&] { add_set(engine, side, set); });
}

void feed_sets(JoinEngine *engine, Side side, const SetView *sets, size_t count) {
  call_cpp([&] {
    for (size_t i = 0; i < count; ++i) add_set(engine, side, sets[i]);
  });
}

void feed_partitioned_set(JoinEngine *engine, Side side, const SetView &set, uint64_t partition) {
  call_cpp([&] {
    PartitionedTokens tokens(partition);
    with_token_type(set.type, [&](auto type) {
      TokenCursor cursor(set);
      for (uint32_t i = 0; i < set.count; ++i) {
        check_interruption_at(i);
        tokens.add(cursor.next_as<decltype(type)>());
      }
    });
    engine->add(side, tokens.row());
  });
}

void feed_empty_set(JoinEngine *engine, Side side, TokenType type) {
  feed_set(engine, side, SetView{type, 0, nullptr, nullptr});
}

}  // namespace simjoin::pg
