// Values that are not sets yet: texts with a tokenizer, and tsvector.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/primnodes.h"
}

#include "pg/sets/set_codec.hpp"

namespace simjoin {
struct Tokenizer;
}

namespace simjoin::pg {

// How a value becomes a set.
struct SetMaker;

// Returns whether values of the type are texts.
bool is_text_type(Oid type);

// Returns whether values of the type have lexemes.
bool has_lexemes(Oid type);

// Returns the maker of sets of texts of a type and with a collation, by the text of a value of type
// tokenizer. It belongs to the context. Errors where no tokenizer or text search configuration has that name.
SetMaker *create_set_maker(const char *tokenizer, Oid type, Oid collation, MemoryContext context);

// Returns the maker of sets of words by a text search configuration that the tokenizer does not name. It
// belongs to the context. Returns NULL where the tokenizer is another one.
SetMaker *create_word_maker(const char *tokenizer, Oid configuration, MemoryContext context);

// Returns the maker of sets of a column's lexemes. It belongs to the context.
SetMaker *create_lexeme_maker(MemoryContext context);

// Returns the text of the type tokenizer that names the maker's tokenizer, in the current memory context.
text *tokenizer_name(const SetMaker &maker);

// Returns the type of the tokens of the sets.
TokenType token_type_of(const SetMaker &maker);

// Returns the type of the tokens of a tokenizer, which is given by the text of a value of type tokenizer.
TokenType token_type_of_tokenizer(const char *tokenizer);

// Returns the set of a value as an array in the current memory context.
Datum make_set(const SetMaker &maker, Datum value);

// Returns the maker's tokenizer, of texts; `configuration` is that of words.
const Tokenizer &tokenizer_of(const SetMaker &maker, Oid *configuration);

// Returns a call of SQL functions that gives the same set for the text. `schema` is that of the extension,
// and `tokenizer_type` its type tokenizer. Returns NULL where it lacks a function, or the current user may
// not execute one.
Expr *set_expression(const SetMaker &maker, Expr *text, Oid schema, Oid tokenizer_type);

}  // namespace simjoin::pg
