// The terms of documents on their way between arrays and a TermTable.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "utils/array.h"
#include "utils/builtins.h"
}

#include <algorithm>

#include "core/text/terms.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/sets/set_codec.hpp"
#include "pg/sets/tokens.hpp"

namespace simjoin::pg {

// Calls take(i, id) for each term of the array, in order. `id` is the term's id in the table. take() may
// throw C++ exceptions and calls nothing of PostgreSQL. Processes interrupts.
template <class Take>
void number_terms(TermTable *table, const SetView &set, Take &&take) {
  constexpr uint32_t terms_per_look = 1 << 14;  // a few milliseconds
  TokenCursor terms(set);
  for (uint32_t begin = 0; begin < set.count; begin += terms_per_look) {
    check_interrupts();
    const uint32_t end =
        static_cast<uint32_t>(std::min<uint64_t>(set.count, uint64_t{begin} + terms_per_look));
    call_cpp([&] {
      for (uint32_t i = begin; i < end; ++i)
        take(i, terms.next([&](auto term) { return table->id_of(term); }));
    });
  }
}

// Returns a term as a value of the type of tokens.
inline Datum term_datum(const TermTable &table, TokenType type, uint32_t id) {
  if (type == TokenType::int8) return Int64GetDatum(table.value(id));
  if (type == TokenType::int4) return Int32GetDatum(static_cast<int32>(table.value(id)));
  const std::string_view text = table.text(id);
  return PointerGetDatum(cstring_to_text_with_len(text.data(), static_cast<int>(text.size())));
}

// Returns an array of `count` terms. id_at(i) returns the id of the i-th.
template <class IdAt>
ArrayType *make_term_array(const TermTable &table, TokenType type, size_t count, IdAt &&id_at) {
  auto *terms = allocate<Datum>(count);
  for (size_t i = 0; i < count; ++i) terms[i] = term_datum(table, type, id_at(i));
  return construct_token_array(terms, count, type);
}

}  // namespace simjoin::pg
