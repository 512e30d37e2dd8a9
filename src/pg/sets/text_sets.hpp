// Sets of the pieces of a text.
#pragma once

#include "pg/base/pg.hpp"

#include "core/text/shingles.hpp"

namespace simjoin::pg {

// Returns the shingles of a text as an ascending array without repeated elements, in the current memory
// context: int8[] where they are `wide`, else int4[]. Letters are first folded by the collation. `size` is at
// least 1. Processes interrupts.
Datum make_shingles(const text *input, Oid collation, ShingleUnit unit, bool wide, int32 size);

}  // namespace simjoin::pg
