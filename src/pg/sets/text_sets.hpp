// Sets of the pieces of a text.
#pragma once

#include "pg/base/pg.hpp"

#include <string_view>

#include "core/text/tokenizer.hpp"

namespace simjoin::pg {

// Returns the text in lower case, by the collation's rules, and in UTF-8, in the current memory context.
std::string_view normalized_text(const char *text, size_t length, Oid collation);
// Returns the text in UTF-8, so that equal texts have equal shingles in databases of different encodings: the
// same text, or a new one. (SQL_ASCII says nothing about its bytes: they are kept.)
std::string_view in_utf8(char *text, size_t length);

// Returns the pieces of a text, by a tokenizer that is `shingled`, as an ascending array without repeated
// elements, in the current memory context: int8[] where they are `wide`, else int4[]. Letters are first
// folded by the collation. Processes interrupts.
Datum make_shingles(std::string_view text, Oid collation, const Tokenizer &tokenizer);

}  // namespace simjoin::pg
