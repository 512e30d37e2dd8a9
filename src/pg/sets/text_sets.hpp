// Sets of the pieces of a text.
#pragma once

#include "pg/base/pg.hpp"

#include <string_view>

#include "core/text/tokenizer.hpp"

namespace simjoin::pg {

// Returns the pieces of a text, by a tokenizer that is `shingled`, as an ascending array without repeated
// elements, in the current memory context: int8[] where they are `wide`, else int4[]. Letters are first
// folded by the collation. Processes interrupts.
Datum make_shingles(std::string_view text, Oid collation, const Tokenizer &tokenizer);

}  // namespace simjoin::pg
