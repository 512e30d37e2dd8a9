// Columns of queries that are not sets yet: texts with a tokenizer, and tsvector.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "access/tupdesc.h"
}

#include "pg/base/set_codec.hpp"

namespace simjoin::pg {

// How a value of a column becomes a set.
struct SetMaker;

// Returns whether values of the type are texts.
bool is_text_type(Oid type);

// Returns whether values of the type have lexemes.
bool has_lexemes(Oid type);

// Returns the maker of sets of a column's texts, by the text of a value of type tokenizer. It belongs to the
// context. Errors where no tokenizer or text search configuration has that name.
SetMaker *create_set_maker(const char *tokenizer, const FormData_pg_attribute *column, MemoryContext context);

// Returns the maker of sets of a column's lexemes. It belongs to the context.
SetMaker *create_lexeme_maker(MemoryContext context);

// Returns the type of the tokens of the sets.
TokenType token_type_of(const SetMaker &maker);

// Returns the set of a value as an array in the current memory context.
Datum make_set(const SetMaker &maker, Datum value);

}  // namespace simjoin::pg
