// The terms of documents on their way between arrays and a TermTable.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
}

#include <algorithm>

#include "core/text/terms.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/base/set_codec.hpp"

namespace simjoin::pg {

// Calls take(i, id) for each term of the array, in order, with its id in the table. take() may throw C++
// exceptions and calls nothing of PostgreSQL. Processes interrupts.
template <class Take>
void number_terms(TermTable *table, const SetView &set, Take &&take) {
  constexpr uint32_t terms_a_look = 1 << 14;  // a few milliseconds
  TextCursor texts(set);
  for (uint32_t begin = 0; begin < set.count; begin += terms_a_look) {
    CHECK_FOR_INTERRUPTS();
    const uint32_t end = static_cast<uint32_t>(std::min<uint64_t>(set.count, uint64_t{begin} + terms_a_look));
    call_cpp([&] {
      for (uint32_t i = begin; i < end; ++i) {
        switch (set.type) {
          case TokenType::int4:
            take(i, table->id_of(int64_t{static_cast<const int32_t *>(set.data)[i]}));
            break;
          case TokenType::int8:
            take(i, table->id_of(static_cast<const int64_t *>(set.data)[i]));
            break;
          case TokenType::text:
            take(i, table->id_of(texts.next()));
            break;
        }
      }
    });
  }
}

// Returns the array type of terms of this type.
inline Oid term_array_type(TokenType type) {
  return type == TokenType::text ? TEXTARRAYOID : type == TokenType::int8 ? INT8ARRAYOID : INT4ARRAYOID;
}

// Returns an array of `count` terms; id_at(i) is the id of one.
template <class IdAt>
ArrayType *make_term_array(const TermTable &table, TokenType type, size_t count, IdAt &&id_at) {
  auto *terms = allocate<Datum>(count);
  for (size_t i = 0; i < count; ++i) {
    if (type == TokenType::text) {
      const std::string_view text = table.text(id_at(i));
      terms[i] = PointerGetDatum(cstring_to_text_with_len(text.data(), static_cast<int>(text.size())));
    } else if (type == TokenType::int8) {
      terms[i] = Int64GetDatum(table.value(id_at(i)));
    } else {
      terms[i] = Int32GetDatum(static_cast<int32>(table.value(id_at(i))));
    }
  }
  const auto elements = static_cast<int>(count);
  switch (type) {
    case TokenType::int4:
      return construct_array(terms, elements, INT4OID, sizeof(int32), true, TYPALIGN_INT);
    case TokenType::int8:
      return construct_array(terms, elements, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
    case TokenType::text:
      break;
  }
  return construct_array(terms, elements, TEXTOID, -1, false, TYPALIGN_INT);
}

// Returns the token type of an argument of the call that only stands for its type, as in NULL::int[]. Errors,
// naming `function` and calling it `argument`, where sets cannot be of that type.
inline TokenType kind_argument(FunctionCallInfo fcinfo, int number, const char *function,
                               const char *argument) {
  const Oid type = get_fn_expr_argtype(fcinfo->flinfo, number);
  TokenType kind;
  if (!token_type_of(type, &kind))
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("%s: %s is of type %s", function, argument, format_type_be(type)),
                    errhint("Give NULL::integer[], NULL::bigint[] or NULL::text[].")));
  return kind;
}

}  // namespace simjoin::pg
